// SPDX-License-Identifier: Apache-2.0
// Expressions of single elements, written as the mathematics: `2 * A(i, k) + exp(B(k))`.
//
// Types never convert by themselves, but a literal takes the type of the other operand: `A(i) * 2`
// is an f16 product when A holds f16. A literal on its own is i64, or f32.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "ir/build.h"
#include "ir/func.h"
#include "te/tensor.h"

namespace tilewright::te {

struct Reduction;
class Expr;

Expr binary(ir::BinaryOp op, const Expr& a, const Expr& b);
Expr unary(ir::UnaryOp op, const Expr& a);

/// numerator / denominator; a rational constant stays a division until code generation.
struct Ratio {
  int64_t numerator, denominator;
};
using Literal = std::variant<int64_t, double, Ratio>;

class Expr {
 public:
  template <std::integral T>
  Expr(T value) : Expr(of_integer(value)) {}
  template <std::floating_point T>
  Expr(T value) : literal_(static_cast<double>(value)) {}
  explicit Expr(Literal literal) : literal_(literal) {}
  /// An expression of the loop IR that reads no memory, such as an extent.
  Expr(ir::Expr e);
  /// One that reads the elements of these tensors.
  Expr(ir::Expr e, std::vector<Tensor> reads) : value_(std::move(e)), reads_(std::move(reads)) {}

  bool is_literal() const { return literal_.has_value(); }
  /// The expression of the loop IR; a literal as i64 or f32.
  ir::Expr ir() const;
  /// The same, a literal in the given type.
  ir::Expr ir(ir::Elem literal_type) const;
  ir::Elem elem() const { return ir().type().elem; }

  const std::vector<Tensor>& reads() const { return reads_; }
  /// The reductions inside; a variable stands for each of their results until `compute` makes a
  /// stage of them.
  const std::vector<std::shared_ptr<const Reduction>>& reductions() const { return reductions_; }

  /// The expression `value` built from `parts`: it reads what they read.
  static Expr combine(ir::Expr value, const std::vector<Expr>& parts);
  static Expr result_of(std::shared_ptr<const Reduction> reduction, size_t index);

  // Friends, so that they are found only where an operand is an Expr of this layer.
  friend Expr operator+(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Add, a, b); }
  friend Expr operator-(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Sub, a, b); }
  friend Expr operator*(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Mul, a, b); }
  friend Expr operator/(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Div, a, b); }
  friend Expr operator%(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Mod, a, b); }
  friend Expr operator&(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::BitAnd, a, b); }
  friend Expr operator|(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::BitOr, a, b); }
  friend Expr operator^(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::BitXor, a, b); }
  friend Expr operator<<(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Shl, a, b); }
  friend Expr operator>>(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Shr, a, b); }
  friend Expr operator&&(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::And, a, b); }
  friend Expr operator||(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Or, a, b); }
  friend Expr operator==(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Eq, a, b); }
  friend Expr operator!=(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Ne, a, b); }
  friend Expr operator<(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Lt, a, b); }
  friend Expr operator<=(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Le, a, b); }
  friend Expr operator>(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Lt, b, a); }
  friend Expr operator>=(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Le, b, a); }
  friend Expr operator!(const Expr& a) { return unary(ir::UnaryOp::Not, a); }
  friend Expr operator~(const Expr& a) { return unary(ir::UnaryOp::BitNot, a); }
  friend Expr operator-(const Expr& a);

 private:
  template <std::integral T>
  static Expr of_integer(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return Expr(ir::bool_imm(value));
    else
      return Expr(
          Literal(integer_literal(std::in_range<int64_t>(value), static_cast<int64_t>(value))));
  }
  static int64_t integer_literal(bool fits, int64_t value);

  ir::Expr value_;  // null for a literal
  std::optional<Literal> literal_;
  std::vector<Tensor> reads_;
  std::vector<std::shared_ptr<const Reduction>> reductions_;
  int64_t size_ = 1;  // nodes, shared ones counted each time
  int64_t depth_ = 1;
};

/// An axis as `compute` and `scan` hand it to the user's function.
class Var : public Expr {
 public:
  explicit Var(ir::Var var) : Expr(static_cast<const ir::Expr&>(var)), var_(std::move(var)) {}
  const ir::Var& var() const { return var_; }

 private:
  ir::Var var_;
};

/// A size known only when the program runs.
class Symbol : public Expr {
 public:
  explicit Symbol(ir::Symbol symbol)
      : Expr(static_cast<const ir::Expr&>(symbol.var)), symbol_(std::move(symbol)) {}
  operator const ir::Symbol&() const { return symbol_; }

 private:
  ir::Symbol symbol_;
};
/// At least 1 unless said otherwise: a reduction over a size that may be 0 needs a block of its own
/// for the case without terms.
Symbol symbol(std::string name, int64_t min = 1, int64_t max = int64_t{1} << 40,
              int64_t divisor = 1);

/// numerator / denominator in the other operand's float type.
Expr rational(int64_t numerator, int64_t denominator);

Expr call(ir::MathFn fn, const std::vector<Expr>& args);
Expr cast(ir::Elem to, const Expr& value);
template <class T>
  requires std::is_arithmetic_v<T>
Expr cast(ir::Elem to, T literal) {
  return cast(to, Expr(literal));
}
/// The same bits as another type of the same width.
Expr reinterpret(ir::Elem to, const Expr& value);
/// Evaluates both sides.
Expr select(const Expr& cond, const Expr& yes, const Expr& no);
/// Evaluates one side: `guard(0 <= i && i < n, A(i), 0)` reads A only inside of its range.
Expr guard(const Expr& cond, const Expr& yes, const Expr& no);

inline Expr min(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Min, a, b); }
inline Expr max(const Expr& a, const Expr& b) { return binary(ir::BinaryOp::Max, a, b); }
inline Expr abs(const Expr& a) { return unary(ir::UnaryOp::Abs, a); }

template <class... Index>
Expr Tensor::operator()(const Index&... indices) const {
  return at({Expr(indices)...});
}

}  // namespace tilewright::te
