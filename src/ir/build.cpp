// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"

#include "ir/scalar.h"

namespace tilewright::ir {
namespace {

/// x + 0, x - 0, x * 1, x * 0, x / 1 on indices; bool && and || with a constant.
Expr identity(BinaryOp op, const Expr& a, const Expr& b) {
  const std::optional<int64_t> ca = const_int(a), cb = const_int(b);
  switch (op) {
    case BinaryOp::Add: return ca == 0 ? b : cb == 0 ? a : Expr();
    case BinaryOp::Sub: return cb == 0 ? a : Expr();
    case BinaryOp::Mul:
      if (ca == 0 || cb == 0) return int_imm(a.type().elem, 0);
      return ca == 1 ? b : cb == 1 ? a : Expr();
    case BinaryOp::Div: return cb == 1 ? a : Expr();
    case BinaryOp::Mod: return cb == 1 ? int_imm(a.type().elem, 0) : Expr();
    case BinaryOp::And:
      return ca == 1 ? b : cb == 1 ? a : ca == 0 || cb == 0 ? bool_imm(false) : Expr();
    case BinaryOp::Or:
      return ca == 0 ? b : cb == 0 ? a : ca == 1 || cb == 1 ? bool_imm(true) : Expr();
    default: return {};
  }
}

}  // namespace

Expr binary(BinaryOp op, const Expr& a, const Expr& b) {
  const IntImm* x = a.as<IntImm>();
  const IntImm* y = b.as<IntImm>();
  if (a.type() == b.type() && !a.type().is_vector() && (x || y) && !a.type().is_float()) {
    if (x && y) {
      const Elem elem = a.type().elem;
      const int64_t v = int_binary(op, elem, x->value, y->value);
      return int_imm(is_compare(op) ? Elem::Bool : elem, v);
    }
    if (Expr simple = identity(op, a, b)) return simple;
  }
  return make<Binary>({}, op, a, b);
}

Expr unary(UnaryOp op, const Expr& a) {
  if (const IntImm* x = a.as<IntImm>())
    return int_imm(a.type().elem, int_unary(op, a.type().elem, x->value));
  return make<Unary>({}, op, a);
}

Expr call(MathFn fn, std::vector<Expr> args) { return make<Call>({}, fn, std::move(args)); }

Expr cast(Elem to, const Expr& value) {
  if (value.type().elem == to) return value;
  return make<Cast>({}, to, value);
}

Expr select(const Expr& cond, const Expr& yes, const Expr& no) {
  return make<Select>({}, cond, yes, no);
}

Expr guard(const Expr& cond, const Expr& yes, const Expr& no) {
  return make<Guard>({}, cond, yes, no);
}

Expr load(const Buffer& buffer, std::vector<Expr> indices) {
  return make<Load>({}, buffer, std::move(indices));
}

Expr int_imm(Elem elem, int64_t value) { return make<IntImm>({}, Type{elem, 1}, value); }

Expr float_imm(Elem elem, double value) {
  return make<FloatImm>({}, Type{elem, 1}, round_to(elem, value));
}

Expr bool_imm(bool value) { return int_imm(Elem::Bool, value); }

Expr imm(Elem elem, int64_t value) {
  return is_float(elem) ? float_imm(elem, static_cast<double>(value)) : int_imm(elem, value);
}

Expr broadcast(const Expr& value, int lanes) {
  if (lanes == 1 || value.type().is_vector()) return value;
  return make<Broadcast>({}, value, lanes);
}

Expr ceil_div(const Expr& a, const Expr& b) { return (a + (b - 1)) / b; }

std::optional<int64_t> const_int(const Expr& e) {
  if (const IntImm* x = e.as<IntImm>()) return x->value;
  return std::nullopt;
}

bool is_true(const Expr& e) { return e.type().is_bool() && const_int(e) == 1; }
bool is_false(const Expr& e) { return e.type().is_bool() && const_int(e) == 0; }

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return logical_and(a, b);
}

}  // namespace tilewright::ir
