// SPDX-License-Identifier: Apache-2.0
#include "te/expr.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "support/str.h"
#include "te/reduce.h"

namespace tilewright::te {
namespace {

// Expressions are walked as trees and by recursion.
constexpr int64_t kMaxSize = 1 << 20;
constexpr int64_t kMaxDepth = 500;

ir::Elem default_type(const Literal& literal) {
  return std::holds_alternative<int64_t>(literal) ? ir::Elem::I64 : ir::Elem::F32;
}

std::string text_of(const Literal& literal) {
  if (const int64_t* v = std::get_if<int64_t>(&literal)) return str(*v);
  if (const double* v = std::get_if<double>(&literal)) return str(*v);
  const Ratio& r = std::get<Ratio>(literal);
  return str(r.numerator, "/", r.denominator);
}

[[noreturn]] void refuse_literal(const Literal& literal, ir::Elem elem, std::string why) {
  throw Error({.code = "te.literal.type",
               .message = str("the literal ", text_of(literal), " cannot become ", name(elem)),
               .notes = {std::move(why)},
               .help = "write a value of that type, or cast the other operand"});
}

ir::Expr literal_as(const Literal& literal, ir::Elem elem) {
  if (elem == ir::Elem::Bool) refuse_literal(literal, elem, "a bool is written true or false");
  if (const int64_t* v = std::get_if<int64_t>(&literal)) {
    if (ir::is_float(elem)) return ir::float_imm(elem, static_cast<double>(*v));
    const bool fits = elem == ir::Elem::U64 ? *v >= 0 : ir::wrap_int(elem, *v) == *v;
    if (!fits)
      refuse_literal(literal, elem,
                     str(name(elem), " holds ", ir::int_min(elem), " to ", ir::int_max(elem)));
    return ir::int_imm(elem, *v);
  }
  if (!ir::is_float(elem)) refuse_literal(literal, elem, "it is not an integer");
  if (const double* v = std::get_if<double>(&literal)) return ir::float_imm(elem, *v);
  const Ratio& r = std::get<Ratio>(literal);
  return ir::float_imm(elem, static_cast<double>(r.numerator)) /
         ir::float_imm(elem, static_cast<double>(r.denominator));
}

/// The element type that literals among the operands take: that of the first typed operand.
ir::Elem common_type(const std::vector<Expr>& operands) {
  for (const Expr& e : operands)
    if (!e.is_literal()) return e.elem();
  for (const Expr& e : operands)
    if (e.elem() != ir::Elem::I64) return e.elem();
  return ir::Elem::I64;
}

/// Builds a node from operands, among which literals take the type of the others.
template <class Build>
Expr typed(const std::vector<Expr>& operands, ir::Elem literal_type, Build build) {
  std::vector<ir::Expr> args;
  for (const Expr& e : operands) args.push_back(e.ir(literal_type));
  try {
    return Expr::combine(build(args), operands);
  } catch (const ir::CheckError& wrong) {
    throw Error({.code = "te.type.operands",
                 .message = wrong.what(),
                 .help = "types never convert by themselves: write cast(elem, value)"});
  }
}

template <class Node>
Expr choose(const char* what, const Expr& cond, const Expr& yes, const Expr& no) {
  if (cond.is_literal())
    throw Error({.code = "te.type.operands",
                 .message = str("the condition of `", what, "` is a number"),
                 .help = "write a comparison, as in `i < n`"});
  return typed({cond, yes, no}, common_type({yes, no}),
               [](const std::vector<ir::Expr>& a) { return ir::make<Node>({}, a[0], a[1], a[2]); });
}

template <class T>
void add_missing(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& t : more)
    if (std::find(all.begin(), all.end(), t) == all.end()) all.push_back(t);
}

}  // namespace

int64_t Expr::integer_literal(bool fits, int64_t value) {
  if (!fits)
    throw Error({.code = "te.literal.type",
                 .message = "an integer literal does not fit i64",
                 .help = "write it as a difference or with reinterpret(U64, …)"});
  return value;
}

Expr::Expr(ir::Expr e) : value_(std::move(e)) {
  if (!value_ || ir::has_load(value_) || value_.type().is_vector())
    throw Error({.code = "te.expr.foreign",
                 .message =
                     "an expression of the loop IR that is empty, a vector, or reads a buffer is "
                     "not a tensor expression",
                 .help = "read the elements of tensors, as in A(i, j)"});
}

ir::Expr Expr::ir() const {
  return literal_ ? literal_as(*literal_, default_type(*literal_)) : value_;
}

ir::Expr Expr::ir(ir::Elem literal_type) const {
  return literal_ ? literal_as(*literal_, literal_type) : value_;
}

Expr Expr::combine(ir::Expr value, const std::vector<Expr>& parts) {
  Expr out(std::move(value), {});
  for (const Expr& part : parts) {
    add_missing(out.reads_, part.reads_);
    add_missing(out.reductions_, part.reductions_);
    out.size_ += part.size_;
    out.depth_ = std::max(out.depth_, part.depth_ + 1);
  }
  if (out.size_ > kMaxSize || out.depth_ > kMaxDepth)
    throw Error({.code = "te.expr.size",
                 .message = str("an expression has ", out.size_, " parts and is ", out.depth_,
                                " levels deep"),
                 .notes = {str("at most ", kMaxSize, " parts and ", kMaxDepth, " levels")},
                 .help = "compute parts of it as stages of their own"});
  return out;
}

Expr Expr::result_of(std::shared_ptr<const Reduction> reduction, size_t index) {
  Expr out(reduction->results[index], {});
  out.reductions_ = {std::move(reduction)};
  return out;
}

Symbol symbol(std::string name, int64_t min, int64_t max, int64_t divisor) {
  return Symbol(
      ir::Symbol{.var = ir::Var(std::move(name)), .min = min, .max = max, .divisor = divisor});
}

Expr rational(int64_t numerator, int64_t denominator) {
  return Expr(Literal(Ratio{numerator, denominator}));
}

Expr binary(ir::BinaryOp op, const Expr& a, const Expr& b) {
  return typed({a, b}, common_type({a, b}),
               [op](const std::vector<ir::Expr>& x) { return ir::binary(op, x[0], x[1]); });
}

Expr unary(ir::UnaryOp op, const Expr& a) {
  return typed({a}, common_type({a}),
               [op](const std::vector<ir::Expr>& x) { return ir::unary(op, x[0]); });
}

Expr operator-(const Expr& a) {
  if (!a.literal_) return unary(ir::UnaryOp::Neg, a);
  if (const int64_t* v = std::get_if<int64_t>(&*a.literal_))
    return Expr(Literal(ir::int_unary(ir::UnaryOp::Neg, ir::Elem::I64, *v)));
  if (const double* v = std::get_if<double>(&*a.literal_)) return Expr(Literal(-*v));
  const Ratio& r = std::get<Ratio>(*a.literal_);
  return rational(ir::int_unary(ir::UnaryOp::Neg, ir::Elem::I64, r.numerator), r.denominator);
}

Expr call(ir::MathFn fn, const std::vector<Expr>& args) {
  // exp(1) means exp(1.0): these functions exist on floats only.
  ir::Elem type = common_type(args);
  const bool literals =
      std::all_of(args.begin(), args.end(), [](const Expr& e) { return e.is_literal(); });
  if (literals && ir::info(fn).on_floats) type = ir::Elem::F32;
  return typed(args, type, [fn](const std::vector<ir::Expr>& x) { return ir::call(fn, x); });
}

Expr cast(ir::Elem to, const Expr& value) {
  if (value.is_literal() && to != ir::Elem::Bool) return Expr(value.ir(to));
  return Expr::combine(ir::cast(to, value.ir()), {value});
}

Expr reinterpret(ir::Elem to, const Expr& value) {
  return typed({value}, common_type({value}), [to](const std::vector<ir::Expr>& x) {
    return ir::make<ir::Reinterpret>({}, to, x[0]);
  });
}

Expr select(const Expr& cond, const Expr& yes, const Expr& no) {
  return choose<ir::Select>("select", cond, yes, no);
}

Expr guard(const Expr& cond, const Expr& yes, const Expr& no) {
  return choose<ir::Guard>("guard", cond, yes, no);
}

}  // namespace tilewright::te
