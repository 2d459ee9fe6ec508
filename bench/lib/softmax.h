// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

/// Softmax over the rows of x[rows, cols], scheduled by steps: one row at a time, its three passes
/// as vectors with several partial results each.
tilewright::schedule::Schedule schedule_softmax(int64_t rows, int64_t cols,
                                                const tilewright::ir::TargetSpec& spec);

}  // namespace bench
