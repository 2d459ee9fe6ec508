// SPDX-License-Identifier: Apache-2.0
// Operations on constants. Floats fold only where no rounding happens; divisions of floats never,
// as they are how a rational constant is written; nor what orders floats, as the exact mode of
// ir/README.md §6 has another order.
#include <cmath>

#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/scalar.h"

namespace tilewright::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

/// a op b as a double, when it is exact.
std::optional<double> exact(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      const double y = op == BinaryOp::Add ? b : -b;
      const double sum = a + y;
      const double back = sum - a;
      if ((a - (sum - back)) + (y - back) != 0) return std::nullopt;
      return sum;
    }
    case BinaryOp::Mul: {
      const double product = a * b;
      // Near underflow the error itself could be lost.
      if (product != 0 && std::fabs(product) < 1e-290) return std::nullopt;
      if (product == 0 && a != 0 && b != 0) return std::nullopt;
      if (std::fma(a, b, -product) != 0) return std::nullopt;
      return product;
    }
    default: return std::nullopt;
  }
}

}  // namespace

Expr fold(BinaryOp op, const Expr& a, const Expr& b) {
  const ir::IntImm* x = a.as<ir::IntImm>();
  const ir::IntImm* y = b.as<ir::IntImm>();
  if (x && y) {
    const ir::Elem elem = a.type().elem;
    return ir::int_imm(ir::is_compare(op) ? ir::Elem::Bool : elem,
                       ir::int_binary(op, elem, x->value, y->value));
  }
  const ir::FloatImm* f = a.as<ir::FloatImm>();
  const ir::FloatImm* g = b.as<ir::FloatImm>();
  if (!f || !g || !std::isfinite(f->value) || !std::isfinite(g->value)) return {};
  const std::optional<double> value = exact(op, f->value, g->value);
  const ir::Elem elem = a.type().elem;
  if (!value || !std::isfinite(*value) || ir::round_to(elem, *value) != *value) return {};
  return ir::float_imm(elem, *value);
}

Expr fold(ir::UnaryOp op, const Expr& a) {
  if (const ir::IntImm* x = a.as<ir::IntImm>())
    return ir::int_imm(a.type().elem, ir::int_unary(op, a.type().elem, x->value));
  if (const ir::FloatImm* f = a.as<ir::FloatImm>();
      f && std::isfinite(f->value) && op == ir::UnaryOp::Neg)
    return ir::float_imm(a.type().elem, -f->value);
  return {};
}

}  // namespace tilewright::arith
