// SPDX-License-Identifier: Apache-2.0
// Expressions that read as the mathematics. Integer constants fold, and x + 0, x * 1, x * 0 on
// indices disappear, so that programs made by steps stay readable; nothing else is simplified here.
#pragma once

#include <optional>

#include "ir/expr.h"

namespace tilewright::ir {

Expr binary(BinaryOp op, const Expr& a, const Expr& b);
Expr unary(UnaryOp op, const Expr& a);
Expr call(MathFn fn, std::vector<Expr> args);
Expr cast(Elem to, const Expr& value);
Expr select(const Expr& cond, const Expr& yes, const Expr& no);
Expr guard(const Expr& cond, const Expr& yes, const Expr& no);
Expr load(const Buffer& buffer, std::vector<Expr> indices);
Expr int_imm(Elem elem, int64_t value);
/// Rounded to the element type.
Expr float_imm(Elem elem, double value);
Expr bool_imm(bool value);
/// The value `v` of any element type.
Expr imm(Elem elem, int64_t value);
/// `value` in `lanes` lanes; itself when lanes is 1.
Expr broadcast(const Expr& value, int lanes);

inline Expr operator+(const Expr& a, const Expr& b) { return binary(BinaryOp::Add, a, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return binary(BinaryOp::Sub, a, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return binary(BinaryOp::Mul, a, b); }
inline Expr operator/(const Expr& a, const Expr& b) { return binary(BinaryOp::Div, a, b); }
inline Expr operator%(const Expr& a, const Expr& b) { return binary(BinaryOp::Mod, a, b); }
inline Expr operator-(const Expr& a) { return unary(UnaryOp::Neg, a); }
inline Expr min(const Expr& a, const Expr& b) { return binary(BinaryOp::Min, a, b); }
inline Expr max(const Expr& a, const Expr& b) { return binary(BinaryOp::Max, a, b); }
// No &&, || and !: they would change what `if (e && …)` asks of a handle.
inline Expr logical_and(const Expr& a, const Expr& b) { return binary(BinaryOp::And, a, b); }
inline Expr logical_or(const Expr& a, const Expr& b) { return binary(BinaryOp::Or, a, b); }
inline Expr logical_not(const Expr& a) { return unary(UnaryOp::Not, a); }
inline Expr operator<(const Expr& a, const Expr& b) { return binary(BinaryOp::Lt, a, b); }
inline Expr operator<=(const Expr& a, const Expr& b) { return binary(BinaryOp::Le, a, b); }
inline Expr operator>(const Expr& a, const Expr& b) { return binary(BinaryOp::Lt, b, a); }
inline Expr operator>=(const Expr& a, const Expr& b) { return binary(BinaryOp::Le, b, a); }
inline Expr eq(const Expr& a, const Expr& b) { return binary(BinaryOp::Eq, a, b); }
inline Expr ne(const Expr& a, const Expr& b) { return binary(BinaryOp::Ne, a, b); }

/// ceil(a / b) for positive b.
Expr ceil_div(const Expr& a, const Expr& b);

/// The value of an integer or bool constant.
std::optional<int64_t> const_int(const Expr& e);
inline bool is_const(const Expr& e, int64_t value) { return const_int(e) == value; }
bool is_true(const Expr& e);
bool is_false(const Expr& e);
/// a && b, where null means true.
Expr both(const Expr& a, const Expr& b);

}  // namespace tilewright::ir
