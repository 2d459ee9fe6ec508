// SPDX-License-Identifier: Apache-2.0
#include "support/diagnostic.h"
#include "support/str.h"
#include "target/c_source/ops.h"

namespace tilewright::target::c_source {

using ir::BinaryOp;
using ir::Elem;

namespace {

constexpr Range kInt = {INT32_MIN, INT32_MAX};

std::string helper(std::string_view op, Elem elem) { return str("tw_", op, "_", ir::name(elem)); }

/// The value of a text whose low bits are right.
Text wrapped(Elem elem, const Text& t) {
  if (is_packed(elem)) return call_of(helper("wrap", elem), {t});
  return cast_to(value_type(elem), t);
}

/// `a op b`; only the left side may have the same operator again.
Text infix(std::string_view op, Bind bind, const Text& a, const Text& b) {
  return {str(a.in(bind), " ", op, " ", b.in(static_cast<Bind>(static_cast<int>(bind) + 1))), bind};
}

/// Where C and readers would ask for parentheses around every other operator.
Text infix_strict(std::string_view op, Bind bind, const Text& a, const Text& b) {
  return {str(a.bind == bind ? a.s : a.in(Bind::Unary), " ", op, " ", b.in(Bind::Unary)), bind};
}

/// `(!a) == b`: compilers take `!a == b` for a mistake.
Text compare(std::string_view op, Bind bind, const Text& a, const Text& b) {
  const bool negated = a.bind == Bind::Unary && a.s.starts_with('!');
  return {str(a.in(negated ? Bind::Atom : Bind::Sum), " ", op, " ", b.in(Bind::Sum)), bind};
}

Text logical(std::string_view op, Bind bind, const Text& a, const Text& b) {
  return {str(a.bind == bind ? a.s : a.in(Bind::BitOr), " ", op, " ", b.in(Bind::BitOr)), bind};
}

/// x + 0, 0 + x, x - 0, x * 1, 1 * x.
const Text* unchanged(BinaryOp op, const Operand& a, const Operand& b) {
  const auto is = [](const Operand& x, int v) { return x.range.is_constant() && x.range.lo == v; };
  const int neutral = op == BinaryOp::Mul ? 1 : 0;
  if (is(b, neutral)) return &a.text;
  if (op != BinaryOp::Sub && is(a, neutral)) return &b.text;
  return nullptr;
}

/// +, - and *.
Text arithmetic(BinaryOp op, Elem elem, const Operand& a, const Operand& b) {
  if (const Text* same = unchanged(op, a, b)) return *same;
  const Range result = exact(op, a.range, b.range);
  const bool fits = result.within(range_of(elem));
  const bool unsigned_wide = ir::is_unsigned(elem) && ir::bits(elem) >= 32;
  if (!fits && ir::is_signed(elem) && ir::bits(elem) >= 32)
    return call_of(helper(op == BinaryOp::Add   ? "add"
                          : op == BinaryOp::Sub ? "sub"
                                                : "mul",
                          elem),
                   {a.text, b.text});
  const auto with = [&](const Text& x) {
    if (op == BinaryOp::Mul) return infix("*", Bind::Product, x, b.text);
    if (op == BinaryOp::Sub) return infix("-", Bind::Sum, x, b.text);
    if (b.range.is_constant() && b.range.lo < 0 && b.range.lo > INT32_MIN)
      return infix("-", Bind::Sum, x, literal(elem, -b.range.lo));  // i + -1
    return infix("+", Bind::Sum, x, b.text);
  };
  if (fits || unsigned_wide) return with(a.text);
  // Short operands are computed as int, which a product of two u16 exceeds.
  return wrapped(elem, result.within(kInt) ? with(a.text) : with(cast_to("uint32_t", a.text)));
}

Text shift(BinaryOp op, Elem elem, const Operand& a, const Operand& b) {
  const bool constant = b.range.is_constant() && b.range.lo >= 0 && b.range.lo < ir::bits(elem);
  if (op == BinaryOp::Shr) {
    if (constant) return infix_strict(">>", Bind::Shift, a.text, b.text);
    return call_of(helper("shr", elem), {a.text, b.text});
  }
  if (constant && a.range.lo >= 0 &&
      exact(BinaryOp::Mul, a.range, {__int128{1} << b.range.lo, __int128{1} << b.range.lo})
          .within(range_of(elem)))
    return infix_strict("<<", Bind::Shift, a.text, b.text);
  const Text shifted = call_of(helper("shl", elem), {a.text, b.text});
  return is_packed(elem) ? wrapped(elem, shifted) : shifted;
}

/// / and %, which round down.
Text division(BinaryOp op, Elem elem, const Operand& a, const Operand& b) {
  const bool div = op == BinaryOp::Div;
  if (a.range.lo >= 0 && b.range.lo > 0)
    return infix(div ? "/" : "%", Bind::Product, a.text, b.text);
  const Text result = call_of(helper(div ? "div" : "mod", elem), {a.text, b.text});
  return is_packed(elem) && div ? wrapped(elem, result) : result;
}

Text bool_binary(BinaryOp op, const Text& a, const Text& b) {
  switch (op) {
    case BinaryOp::And:
    case BinaryOp::BitAnd: return logical("&&", Bind::And, a, b);
    case BinaryOp::Or:
    case BinaryOp::BitOr: return logical("||", Bind::Or, a, b);
    case BinaryOp::BitXor:
    case BinaryOp::Ne: return compare("!=", Bind::Equal, a, b);
    case BinaryOp::Eq: return compare("==", Bind::Equal, a, b);
    default: throw InternalError("bool_binary: not an operator of bool");
  }
}

}  // namespace

Text int_binary(BinaryOp op, Elem elem, const Operand& a, const Operand& b) {
  if (ir::is_compare(op) && a.text.s == b.text.s)  // gcc warns of i == i
    return literal(Elem::Bool, op == BinaryOp::Eq || op == BinaryOp::Le);
  if (elem == Elem::Bool) return bool_binary(op, a.text, b.text);
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul: return arithmetic(op, elem, a, b);
    case BinaryOp::Div:
    case BinaryOp::Mod: return division(op, elem, a, b);
    case BinaryOp::Min: return call_of(helper("min", elem), {a.text, b.text});
    case BinaryOp::Max: return call_of(helper("max", elem), {a.text, b.text});
    case BinaryOp::BitAnd: return infix_strict("&", Bind::BitAnd, a.text, b.text);
    case BinaryOp::BitOr: return infix_strict("|", Bind::BitOr, a.text, b.text);
    case BinaryOp::BitXor: return infix_strict("^", Bind::BitXor, a.text, b.text);
    case BinaryOp::Shl:
    case BinaryOp::Shr: return shift(op, elem, a, b);
    case BinaryOp::Eq: return compare("==", Bind::Equal, a.text, b.text);
    case BinaryOp::Ne: return compare("!=", Bind::Equal, a.text, b.text);
    case BinaryOp::Lt: return compare("<", Bind::Less, a.text, b.text);
    case BinaryOp::Le: return compare("<=", Bind::Less, a.text, b.text);
    case BinaryOp::And:
    case BinaryOp::Or: break;
  }
  throw InternalError("int_binary: not an operator of integers");
}

Text int_unary(ir::UnaryOp op, Elem elem, const Operand& a) {
  const auto prefix = [&](std::string_view sign) -> Text {
    // --x would be something else.
    return {str(sign, a.text.in(a.text.bind == Bind::Unary ? Bind::Atom : Bind::Unary)),
            Bind::Unary};
  };
  const bool narrow = ir::bits(elem) < 32;
  switch (op) {
    case ir::UnaryOp::Not: return prefix("!");
    case ir::UnaryOp::BitNot:
      return narrow && ir::is_unsigned(elem) ? wrapped(elem, prefix("~")) : prefix("~");
    case ir::UnaryOp::Neg:
      if (Range{-a.range.hi, -a.range.lo}.within(range_of(elem))) return prefix("-");
      if (narrow) return wrapped(elem, prefix("-"));
      return ir::is_unsigned(elem) ? prefix("-") : call_of(helper("neg", elem), {a.text});
    case ir::UnaryOp::Abs: {
      if (a.range.lo >= 0) return a.text;
      const Text t = call_of(helper("abs", elem), {a.text});
      return is_packed(elem) ? wrapped(elem, t) : t;
    }
  }
  __builtin_unreachable();
}

Text int_call(ir::MathFn fn, Elem elem, const Text& a) {
  // The bits of the element and nothing above them.
  const int bits = ir::bits(elem);
  const Text low =
      is_packed(elem) ? call_of(str("tw_wrap_u", bits), {a}) : cast_to(str("uint", bits, "_t"), a);
  const Text count = fn == ir::MathFn::Popcount ? call_of("tw_popcount", {low})
                                                : call_of("tw_clz", {low, {str(bits)}});
  return wrapped(elem, count);
}

}  // namespace tilewright::target::c_source
