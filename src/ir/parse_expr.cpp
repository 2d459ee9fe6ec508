// SPDX-License-Identifier: Apache-2.0
#include "ir/parse_expr.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/literal.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

// Parsing, walking and freeing recurse. This keeps them within a thread's stack, also under the
// sanitizers. It limits parentheses too, so that what was read can be printed and read again.
constexpr int kMaxDepth = 500;

struct Operator {
  BinaryOp op;
  bool swapped;  // `a > b` is `b < a`
  int precedence;
};

std::optional<Operator> operator_at(const Token& token) {
  if (token.kind != TokenKind::Punct) return std::nullopt;
  const auto of = [](BinaryOp op, bool swapped) {
    return Operator{op, swapped, info(op).precedence};
  };
  if (token.text == ">") return of(BinaryOp::Lt, true);
  if (token.text == ">=") return of(BinaryOp::Le, true);
  for (int i = 0; i < kBinaryOpCount; ++i) {
    const auto op = static_cast<BinaryOp>(i);
    if (info(op).precedence > 0 && info(op).text == token.text) return of(op, false);
  }
  return std::nullopt;
}

std::optional<UnaryOp> prefix_at(const Token& token) {
  if (token.is("-")) return UnaryOp::Neg;
  if (token.is("!")) return UnaryOp::Not;
  if (token.is("~")) return UnaryOp::BitNot;
  return std::nullopt;
}

std::optional<BinaryOp> lane_op(std::string_view name) {
  struct Row {
    std::string_view name;
    BinaryOp op;
  };
  constexpr Row kRows[] = {
      {"reduce_add", BinaryOp::Add}, {"reduce_mul", BinaryOp::Mul}, {"reduce_min", BinaryOp::Min},
      {"reduce_max", BinaryOp::Max}, {"reduce_and", BinaryOp::And}, {"reduce_or", BinaryOp::Or},
  };
  for (const Row& row : kRows)
    if (row.name == name) return row.op;
  return std::nullopt;
}

int depth_of(const Expr& e) {
  int deepest = 0;
  for_each_child(e, [&](const Expr& child) { deepest = std::max(deepest, depth_of(child)); });
  return deepest + 1;
}

}  // namespace

void ExprParser::limit(const Token& at, int depth) {
  if (depth > kMaxDepth)
    cursor_.fail("ir.parse.depth", at, str("this expression is more than ", kMaxDepth, " deep"),
                 "name parts of it with `let`");
}

ExprParser::Deep ExprParser::deep() {
  limit(cursor_.peek(), ++nesting_);
  Deep e = binary(1);
  --nesting_;
  return e;
}

ExprParser::Deep ExprParser::binary(int precedence) {
  Deep left = unary();
  while (const std::optional<Operator> op = operator_at(cursor_.peek())) {
    if (op->precedence < precedence) break;
    const Token at = cursor_.next();
    Deep right = binary(op->precedence + 1);
    const int depth = std::max(left.depth, right.depth);
    if (op->swapped) std::swap(left, right);
    left = node<Binary>(at, depth, op->op, left.expr, right.expr);
  }
  return left;
}

ExprParser::Deep ExprParser::unary() {
  std::vector<std::pair<Token, UnaryOp>> prefixes;
  while (const std::optional<UnaryOp> op = prefix_at(cursor_.peek()))
    prefixes.emplace_back(cursor_.next(), *op);
  const bool literal = cursor_.at(TokenKind::Int) || cursor_.at(TokenKind::Float) ||
                       cursor_.at("inf") || cursor_.at("nan");
  const bool negative = literal && !prefixes.empty() && prefixes.back().second == UnaryOp::Neg;
  if (negative) prefixes.pop_back();
  Deep e = negative ? number(true) : atom();
  for (; !prefixes.empty(); prefixes.pop_back())
    e = node<Unary>(prefixes.back().first, e.depth, prefixes.back().second, e.expr);
  return e;
}

ExprParser::Deep ExprParser::atom() {
  const Token& at = cursor_.peek();
  switch (at.kind) {
    case TokenKind::Int:
    case TokenKind::Float: return number(false);
    case TokenKind::Name: return word();
    default: break;
  }
  if (cursor_.accept("(")) {
    const Deep inner = deep();
    cursor_.expect(")", "after the expression");
    return inner;
  }
  cursor_.fail_expected("an expression", "write a value, a name or something in parentheses");
}

ExprParser::Deep ExprParser::number(bool negative) {
  const Token at = cursor_.next();
  Type t = at.kind == TokenKind::Int ? kIndex : kF32;
  if (cursor_.accept(":")) {
    const Token name = cursor_.peek();
    t = type();
    if (t.is_vector())
      cursor_.fail("ir.type.constant", name, "a constant is one element, not a vector",
                   str("write `broadcast(", at.text.substr(0, 40), ":", ir::name(t.elem), ", ",
                       t.lanes, ")`"));
  }
  const auto fail = [&](std::string_view why) {
    cursor_.fail("ir.type.constant", at,
                 str("the constant ", negative ? "-" : "", at.text.substr(0, 40), why, print(t)),
                 "give it another type after a colon, as in `1:i32` or `1.0:f64`");
  };
  if (t.is_float()) {
    std::optional<double> value;
    if (at.is("inf"))
      value = std::numeric_limits<double>::infinity();
    else if (at.is("nan"))
      value = std::numeric_limits<double>::quiet_NaN();
    else
      value = parse_float(t.elem, at.text);
    if (value && negative) value = -*value;
    const double kept = value ? round_to(t.elem, *value) : 0;
    if (!value || (kept != *value && !(std::isnan(kept) && std::isnan(*value))))
      fail(" does not fit ");
    return node<FloatImm>(at, 0, t, *value);
  }
  if (at.kind != TokenKind::Int) fail(" is no integer, but its type is ");
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(at.text.data(), at.text.data() + at.text.size(), magnitude);
  const uint64_t most = !negative ? int_max(t.elem) : 0 - static_cast<uint64_t>(int_min(t.elem));
  if (error != std::errc() || magnitude > most) fail(" does not fit ");
  return node<IntImm>(at, 0, t, static_cast<int64_t>(negative ? 0 - magnitude : magnitude));
}

ExprParser::Deep ExprParser::word() {
  const Token at = cursor_.peek();
  if (at.text == "inf" || at.text == "nan") return number(false);
  if (cursor_.next_is("[") || cursor_.next_is("@")) return load();
  cursor_.next();
  if (at.text == "true" || at.text == "false") return node<IntImm>(at, 0, kBool, at.text == "true");
  if (at.text == "bits" && cursor_.accept(":")) {
    const Elem to = elem();
    const DeepList value = arguments(at, 1);
    return node<Reinterpret>(at, value.depth, to, value.list[0]);
  }
  if (cursor_.at("(")) return call(at);
  if (is_reserved(at.text) && !names_.find(at.text))
    cursor_.fail("ir.parse.reserved", at, str("`", at.text, "` is not an expression"),
                 "it is a word of the language: write a value, a name or something in parentheses");
  return {names_.var(cursor_, at), 1};
}

ExprParser::Deep ExprParser::call(const Token& name) {
  if (const std::optional<Type> to = type_from_name(name.text)) {
    const DeepList value = arguments(name, 1);
    if (to->is_vector() && to->lanes != value.list[0].type().lanes)
      cursor_.fail("ir.type.check", name,
                   str("a cast of ", print(value.list[0].type()), " to ", print(*to)),
                   "a cast keeps the lanes: name the element type only");
    return node<Cast>(name, value.depth, to->elem, value.list[0]);
  }
  if (const std::optional<BinaryOp> op = lane_op(name.text)) {
    const DeepList value = arguments(name, 1);
    return node<VectorReduce>(name, value.depth, *op, value.list[0]);
  }
  if (const std::optional<MathFn> fn = math_from_name(name.text)) {
    DeepList in = arguments(name, static_cast<size_t>(info(*fn).args));
    return node<Call>(name, in.depth, *fn, std::move(in.list));
  }
  if (name.text == "abs") {
    const DeepList in = arguments(name, 1);
    return node<Unary>(name, in.depth, UnaryOp::Abs, in.list[0]);
  }
  if (name.text == "min" || name.text == "max") {
    const DeepList in = arguments(name, 2);
    return node<Binary>(name, in.depth, name.text == "min" ? BinaryOp::Min : BinaryOp::Max,
                        in.list[0], in.list[1]);
  }
  if (name.text == "select") {
    const DeepList in = arguments(name, 3);
    return node<Select>(name, in.depth, in.list[0], in.list[1], in.list[2]);
  }
  if (name.text == "guard") {
    const DeepList in = arguments(name, 3);
    return node<Guard>(name, in.depth, in.list[0], in.list[1], in.list[2]);
  }
  if (name.text == "ramp") {
    cursor_.next();
    const Deep base = deep();
    cursor_.expect(",", "after the start of the ramp");
    const Deep stride = deep();
    const int32_t n = lanes();
    return node<Ramp>(name, std::max(base.depth, stride.depth), base.expr, stride.expr, n);
  }
  if (name.text == "broadcast") {
    cursor_.next();
    const Deep value = deep();
    const int32_t n = lanes();
    return node<Broadcast>(name, value.depth, value.expr, n);
  }
  const Expr other = other_call(name);
  const int depth = depth_of(other);
  limit(name, depth);
  return {other, depth};
}

Expr ExprParser::other_call(const Token& name) {
  std::vector<std::string_view> known = {"abs",   "min",  "max",      "select",
                                         "guard", "ramp", "broadcast"};
  for (int i = 0; i < kMathFnCount; ++i) known.push_back(info(static_cast<MathFn>(i)).name);
  const std::string_view near = closest(name.text, known);
  cursor_.fail("ir.parse.function", name, str("there is no function `", name.text, "`"),
               near.empty()
                   ? "use an operator, a function of ir/README.md §7, or a cast such as `f32(x)`"
                   : str("did you mean `", near, "`?"));
}

/// `, n)`
int32_t ExprParser::lanes() {
  cursor_.expect(",", "before the number of lanes");
  const int64_t n = cursor_.expect_int("the number of lanes", 2, kMaxLanes);
  cursor_.expect(")", "after the number of lanes");
  return static_cast<int32_t>(n);
}

ExprParser::DeepList ExprParser::deep_exprs(std::string_view close) {
  DeepList out;
  if (cursor_.accept(close)) return out;
  while (true) {
    Deep e = deep();
    out.list.push_back(std::move(e.expr));
    out.depth = std::max(out.depth, e.depth);
    if (cursor_.accept(close)) return out;
    if (!cursor_.accept(","))
      cursor_.fail_expected(str("`,` or `", close, "`"), str("close the list with `", close, "`"));
  }
}

ExprParser::DeepList ExprParser::arguments(const Token& name, size_t count) {
  cursor_.expect("(", str("after `", name.text, "`"));
  DeepList out = deep_exprs(")");
  if (out.list.size() != count)
    cursor_.fail("ir.parse.arguments", name,
                 str("`", name.text, "` takes ", count, count == 1 ? " argument" : " arguments",
                     ", not ", out.list.size()),
                 str("give it ", count));
  return out;
}

ExprParser::Deep ExprParser::load() {
  Access a = access();
  return node<Load>(a.at, a.depth, std::move(a.buffer), std::move(a.indices), std::move(a.mask),
                    std::move(a.rank));
}

ExprParser::Access ExprParser::access() {
  Access out;
  out.at = cursor_.expect_word("a buffer");
  out.buffer = names_.buffer(cursor_, out.at);
  const Deep rank = deep_rank();
  out.rank = rank.expr;
  cursor_.expect("[", str("after `", out.at.text, "`"));
  DeepList indices = deep_exprs("]");
  out.indices = std::move(indices.list);
  out.depth = std::max(rank.depth, indices.depth);
  if (cursor_.at("mask") && cursor_.next_is("(")) {
    const DeepList mask = arguments(cursor_.next(), 1);
    out.mask = mask.list[0];
    out.depth = std::max(out.depth, mask.depth);
  }
  return out;
}

ExprParser::Deep ExprParser::deep_rank() {
  if (!cursor_.accept("@")) return {nullptr, 0};
  if (cursor_.at(TokenKind::Name)) return {names_.var(cursor_, cursor_.next()), 1};
  if (cursor_.at(TokenKind::Int)) return number(false);
  cursor_.expect("(", "or a name or an integer after `@`");
  const Deep e = deep();
  cursor_.expect(")", "after the rank");
  return e;
}

Range ExprParser::bounds() {
  const Token at = cursor_.peek();
  return bounds_from(at, expr());
}

Range ExprParser::bounds_from(const Token& at, const Expr& min) {
  if (cursor_.accept("+:")) return {min, expr()};
  cursor_.expect("..", "or `+:` in a range");
  const Expr end = expr();
  const IntImm* first = min.as<IntImm>();
  const IntImm* last = end.as<IntImm>();
  if (first && first->of == kIndex && first->value == 0) return {min, end};
  if (!first || !last || min.type() != end.type() || min.type() != kIndex)
    return {min, checked(cursor_, at,
                         [&] { return make<Binary>(cursor_.span(at), BinaryOp::Sub, end, min); })};
  int64_t extent;
  if (__builtin_sub_overflow(last->value, first->value, &extent))
    cursor_.fail("ir.parse.range", at, "this range has more than 2^63 elements", "make it smaller");
  return {min, make<IntImm>(cursor_.span(at), kIndex, extent)};
}

Region ExprParser::region() {
  Region out;
  const Token name = cursor_.expect_word("a buffer");
  out.buffer = names_.buffer(cursor_, name);
  out.rank = rank();
  cursor_.expect("[", str("after `", name.text, "`"));
  if (cursor_.accept("]")) return out;
  do {
    const Token at = cursor_.peek();
    const Expr min = expr();
    const bool single = cursor_.at(",") || cursor_.at("]");
    out.ranges.push_back(single ? Range{min, Expr(1)} : bounds_from(at, min));
  } while (cursor_.accept(","));
  cursor_.expect("]", "after the ranges");
  return out;
}

Type ExprParser::type() {
  const Token name = cursor_.peek();
  if (name.kind == TokenKind::Name)
    if (const std::optional<Type> t = type_from_name(name.text)) {
      cursor_.next();
      return *t;
    }
  cursor_.fail("ir.type.unknown", name, str("expected a type, found ", describe(name)),
               str("a type is one of bool, i8 … i64, u8 … u64, f16, bf16, f32, f64 and their kin, "
                   "or a vector such as f32x8 of 2 to ",
                   kMaxLanes, " lanes"));
}

Elem ExprParser::elem() {
  const Token name = cursor_.peek();
  const Type t = type();
  if (t.is_vector())
    cursor_.fail("ir.type.unknown", name, str("`", name.text, "` is not an element type"),
                 str("write `", ir::name(t.elem), "`"));
  return t.elem;
}

}  // namespace tilewright::ir
