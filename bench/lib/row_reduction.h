// SPDX-License-Identifier: Apache-2.0
// The innermost loops of kernels over rows, as vectors.
#pragma once

#include <cstdint>
#include <string>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

/// The loops `row, k` at the end of a reduction: all rows at once, each with `chains` vectors of
/// partial results to cover the latency. They stay in registers and are combined into `buffer` at
/// the end.
void reduce_in_chains(tilewright::schedule::Schedule& s, const std::string& block,
                      const std::string& buffer, int64_t chains,
                      const tilewright::ir::TargetSpec& spec);

/// The loops `row, i` at the end of an elementwise stage: all rows at once, `vectors` of each
/// beside each other.
void map_in_vectors(tilewright::schedule::Schedule& s, const std::string& block, int64_t vectors,
                    const tilewright::ir::TargetSpec& spec);

}  // namespace bench
