// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"

namespace tilewright::tune {

/// The same function with reductions that begin by themselves: where there may be no terms, the
/// identity is stored beforehand, which keeps results out of registers and lanes.
///   for i { X[i] = 0 }  for i { for k in 0..m { X[i] sum= A[i, k] } }
///   ->  for i { for k in 0..max(m, 1) { init { X[i] = 0 }  X[i] sum= guard(k < m, A[i, k], 0) } }
/// Without a guard where there is a term for certain.
ir::LoopFunc with_inits_inside(const ir::LoopFunc& blocks);

}  // namespace tilewright::tune
