// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

/// Softmax over the rows of x[rows, cols] in three passes over each: the maximum; e^(x - maximum)
/// and its sum; the quotient. One loop makes the three passes over three different rows. `cols` is
/// a multiple of two vectors.
tilewright::schedule::Schedule schedule_softmax(int64_t rows, int64_t cols,
                                                const tilewright::ir::TargetSpec& spec);

}  // namespace bench
