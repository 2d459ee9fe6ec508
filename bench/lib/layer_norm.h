// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

/// Layer norm over the rows of x[rows, cols] with scale and shift, in three passes over each row:
/// mean, variance about the mean, result.
tilewright::schedule::Schedule schedule_layer_norm(int64_t rows, int64_t cols,
                                                   const tilewright::ir::TargetSpec& spec);

}  // namespace bench
