// SPDX-License-Identifier: Apache-2.0
// The operators of the IR on single elements, as C: an operator of C where it means the same, else
// a helper.
#pragma once

#include <vector>

#include "ir/ops.h"
#include "target/c_source/ranges.h"
#include "target/c_source/types.h"

namespace tilewright::target::c_source {

/// An integer expression and what it can be.
struct Operand {
  Text text;
  Range range;
};

Text int_binary(ir::BinaryOp op, ir::Elem elem, const Operand& a, const Operand& b);
Text int_unary(ir::UnaryOp op, ir::Elem elem, const Operand& a);
Text int_call(ir::MathFn fn, ir::Elem elem, const Text& a);

Text float_binary(ir::BinaryOp op, ir::Elem elem, const Text& a, const Text& b);
Text float_unary(ir::UnaryOp op, ir::Elem elem, const Text& a);
Text float_call(ir::MathFn fn, ir::Elem elem, const std::vector<Text>& args);

/// A value of one type as another, as ir/README.md §3.4 says.
Text convert(ir::Elem from, ir::Elem to, const Text& t);
/// The same bits.
Text reinterpret(ir::Elem from, ir::Elem to, const Text& t);

}  // namespace tilewright::target::c_source
