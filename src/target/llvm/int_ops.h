// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/ops.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// Operators of integers and bools with the meaning of ir/README.md §3.2: floor division, x / 0 ==
/// 0, shifts of any amount.
ll::Value* int_binary(Lanes& b, ir::BinaryOp op, ir::Elem elem, ll::Value* x, ll::Value* y);
ll::Value* int_unary(Lanes& b, ir::UnaryOp op, ir::Elem elem, ll::Value* x);
ll::Value* int_call(Lanes& b, ir::MathFn fn, ir::Elem elem, ll::Value* x);

}  // namespace tilewright::target::llvm
