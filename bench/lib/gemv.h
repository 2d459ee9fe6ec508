// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace bench {

/// y[m] = A[m, k] x[k], A row-major: several rows at once, so that one vector of x serves them all.
tilewright::schedule::Schedule schedule_gemv(int64_t m, int64_t k,
                                             const tilewright::ir::TargetSpec& spec);

/// y[n] = x[k] A[k, n], A row-major: a tile of y stays in registers while the rows of A go by.
tilewright::schedule::Schedule schedule_gemv_transposed(int64_t k, int64_t n,
                                                        const tilewright::ir::TargetSpec& spec);

}  // namespace bench
