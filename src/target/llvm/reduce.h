// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/ops.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// All lanes combined to one, in lane order; when `reassociate`, in any order for min and max and
/// for sums and products of f32 and f64.
ll::Value* reduce_lanes(Lanes& b, ir::BinaryOp op, ir::Elem elem, ll::Value* v, bool reassociate);

}  // namespace tilewright::target::llvm
