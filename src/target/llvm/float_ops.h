// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/ops.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// What is known of an operand, so that min and max need fewer instructions.
struct Known {
  bool not_nan = false;
  bool not_zero = false;
};

/// Operators of floats of every size: arithmetic, min and max, comparisons (which give i1 lanes).
ll::Value* float_binary(Lanes& b, ir::BinaryOp op, ir::Elem elem, ll::Value* x, ll::Value* y,
                        Known x_known = {}, Known y_known = {});
ll::Value* float_unary(Lanes& b, ir::UnaryOp op, ir::Elem elem, ll::Value* x);

/// a * b + c, rounded once.
ll::Value* float_fma(Lanes& b, ir::Elem elem, ll::Value* x, ll::Value* y, ll::Value* z);

}  // namespace tilewright::target::llvm
