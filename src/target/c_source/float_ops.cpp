// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "support/diagnostic.h"
#include "support/str.h"
#include "target/c_source/ops.h"

namespace tilewright::target::c_source {

using ir::BinaryOp;
using ir::Elem;
using ir::MathFn;

namespace {

/// A result of wider arithmetic as an element.
Text rounded(Elem elem, const Text& t) {
  if (elem == Elem::F64) return t;
  if (elem == Elem::F32) return cast_to("float", t);
  return call_of(str("tw_round_", ir::name(elem)), {t});
}

/// The type in which an element is computed with.
std::string_view computed(Elem elem) { return elem == Elem::F64 ? "f64" : "f32"; }

}  // namespace

Text float_binary(BinaryOp op, Elem elem, const Text& a, const Text& b) {
  const auto infix = [&](std::string_view sign, Bind bind) -> Text {
    const auto tighter = static_cast<Bind>(static_cast<int>(bind) + 1);
    return {str(a.in(bind), " ", sign, " ", b.in(tighter)), bind};
  };
  const auto arithmetic = [&](std::string_view sign, Bind bind) {
    return is_small_float(elem) ? rounded(elem, infix(sign, bind)) : infix(sign, bind);
  };
  const auto compare = [&](std::string_view sign, Bind bind) -> Text {
    return {str(a.in(Bind::Sum), " ", sign, " ", b.in(Bind::Sum)), bind};
  };
  switch (op) {
    case BinaryOp::Add: return arithmetic("+", Bind::Sum);
    case BinaryOp::Sub: return arithmetic("-", Bind::Sum);
    case BinaryOp::Mul: return arithmetic("*", Bind::Product);
    case BinaryOp::Div: return arithmetic("/", Bind::Product);
    case BinaryOp::Min: return call_of(str("tw_min_", computed(elem)), {a, b});
    case BinaryOp::Max: return call_of(str("tw_max_", computed(elem)), {a, b});
    case BinaryOp::Eq: return compare("==", Bind::Equal);
    case BinaryOp::Ne: return compare("!=", Bind::Equal);
    case BinaryOp::Lt: return compare("<", Bind::Less);
    case BinaryOp::Le: return compare("<=", Bind::Less);
    default: throw InternalError("float_binary: not an operator of floats");
  }
}

Text float_unary(ir::UnaryOp op, Elem elem, const Text& a) {
  if (op == ir::UnaryOp::Abs) return call_of(str("tw_abs_", computed(elem)), {a});
  require(op == ir::UnaryOp::Neg, "float_unary: not an operator of floats");
  const Text negative = {str("-", a.in(a.bind == Bind::Unary ? Bind::Atom : Bind::Unary)),
                         Bind::Unary};
  return elem == Elem::F8E8M0 ? rounded(elem, negative) : negative;
}

Text float_call(MathFn fn, Elem elem, const std::vector<Text>& args) {
  switch (fn) {
    case MathFn::IsNan: return call_of(str("tw_isnan_", computed(elem)), {args[0]});
    case MathFn::IsInf: return call_of(str("tw_isinf_", computed(elem)), {args[0]});
    case MathFn::Fma:
      if (elem == Elem::F64) return call_of("tw_fma_f64", {args[0], args[1], args[2]});
      return rounded(elem, call_of("tw_fma_odd", {args[0], args[1], args[2]}));
    default: break;
  }
  // The helpers compute in double and are named as the functions of the IR.
  const std::string name = str("tw_", ir::info(fn).name);
  return rounded(elem,
                 args.size() == 2 ? call_of(name, {args[0], args[1]}) : call_of(name, {args[0]}));
}

Text convert(Elem from, Elem to, const Text& t) {
  if (from == to) return t;
  if (to == Elem::Bool) return {str(t.in(Bind::Sum), " != 0"), Bind::Equal};
  if (ir::is_float(from)) {
    if (!ir::is_float(to)) return call_of(str("tw_to_", ir::name(to)), {t});
    // Every short value is a float already.
    if (to == Elem::F32 && is_small_float(from)) return t;
    return to == Elem::F64 ? cast_to("double", t) : rounded(to, t);
  }
  if (ir::is_float(to)) {
    if (!is_small_float(to)) return cast_to(value_type(to), t);
    // What a double cannot hold is beyond all short floats but two, where it must not be rounded
    // twice.
    if ((to == Elem::BF16 || to == Elem::F8E8M0) && ir::bits(from) == 64)
      return rounded(to, call_of(ir::is_signed(from) ? "tw_odd_i64" : "tw_odd_u64", {t}));
    return rounded(to, cast_to("double", t));
  }
  if (is_packed(to)) return call_of(str("tw_wrap_", ir::name(to)), {cast_to("int", t)});
  return cast_to(value_type(to), t);
}

Text reinterpret(Elem from, Elem to, const Text& t) {
  if (from == to) return t;
  const Text bits = ir::is_float(from) ? call_of(str("tw_bits_", ir::name(from)), {t})
                    : ir::is_float(to) ? cast_to(str("uint", std::max(8, ir::bits(to)), "_t"), t)
                                       : t;
  if (ir::is_float(to)) return call_of(str("tw_value_", ir::name(to)), {bits});
  if (is_packed(to)) return call_of(str("tw_wrap_", ir::name(to)), {bits});
  return cast_to(value_type(to), bits);
}

}  // namespace tilewright::target::c_source
