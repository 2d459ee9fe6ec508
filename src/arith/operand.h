// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "arith/context.h"
#include "support/function_ref.h"

namespace tilewright::arith {

/// An operand of an instruction in memory: its first element, and how far apart its elements are
/// along each physical dimension of the operand's declaration.
struct OperandPlace {
  ir::Expr first;
  ir::Expr span;  // elements from the first to the last
  std::vector<ir::Expr> strides;
  std::string reason;  // why there is no such place; empty when there is one
};

/// Where the operand lies when it is handed `region`, and `address` tells where an element of the
/// region's buffer is. Proves that the address is an affine function of the operand's physical
/// indices; the reason names the axis along which it is not.
///   C[i*2 +: 2, j*4 +: 4] of f32[4, 8] as f32[2, 4]  ->  i*16 + j*4, strides 8, 1
OperandPlace operand_place(const ir::Region& region, const ir::BufferNode& operand,
                           FunctionRef<ir::Expr(const std::vector<ir::Expr>&)> address,
                           const Context& context);

/// The same for a buffer that lies as it is declared: row-major, or by its layout's addresses.
OperandPlace operand_place(const ir::Region& region, const ir::BufferNode& operand,
                           const Context& context);

}  // namespace tilewright::arith
