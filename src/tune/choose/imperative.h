// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::tune {

/// The function with vectors for the innermost loops of opaque blocks that store neighbours from
/// neighbours, as the rows of a scatter; schedules do not look into such blocks.
///   for j in 0..n { y[at, j] = u[i, j] }
///   ->  for v in 0..n / 16 { vectorized for l in 0..16 { y[at, v*16 + l] = u[i, v*16 + l] } }
///       for j in n / 16 * 16..n { y[at, j] = u[i, j] }
ir::LoopFunc with_rows_in_vectors(const ir::LoopFunc& func, const ir::TargetSpec& spec);

}  // namespace tilewright::tune
