// SPDX-License-Identifier: Apache-2.0
// Functions of single elements without attributes, one row each.
#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

template <Kind K>
std::vector<Type> infer(const Call& call) {
  need(call, 0, K, "ops.unary.type");
  return {call.type(0)};
}

template <Kind K>
std::vector<Type> infer_bool(const Call& call) {
  need(call, 0, K, "ops.unary.type");
  TensorType out = call.tensor(0);
  out.elem = ir::Elem::Bool;
  return {out};
}

template <Expr (*F)(const Expr&)>
std::vector<te::Tensor> define(const Call& call) {
  return {te::map(call.in(0), F)};
}

template <Dim (*F)(const Dim&)>
std::vector<Elements> elements(const Call& call) {
  return {map_elements(call, call.elem(0), [](const std::vector<Dim>& x) { return F(x[0]); })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  for (const OpDef& op : unary_ops())
    if (op.onnx[0].op == n.op) return g.output(n, g.call(op, NoAttrs{}, {n.need(0)}));
}

template <Expr (*F)(const Expr&), Kind K>
OpDef row(std::string_view name, std::string_view onnx) {
  return define_op({.name = name,
                    .fusion = FusionKind::Injective,
                    .infer = infer<K>,
                    .algorithms = {{.name = "direct", .define = define<F>}},
                    .onnx = {{.op = onnx, .rule = from_onnx}}});
}

template <Expr (*F)(const Expr&), Kind K, Dim (*E)(const Dim&)>
OpDef row_with_elements(std::string_view name, std::string_view onnx) {
  OpDef def = row<F, K>(name, onnx);
  def.elements = elements<E>;
  return def;
}

template <Expr (*F)(const Expr&), Kind K>
OpDef row_bool(std::string_view name, std::string_view onnx) {
  OpDef def = row<F, K>(name, onnx);
  def.infer = infer_bool<K>;
  return def;
}

Expr neg(const Expr& x) { return -x; }
Dim neg_dim(const Dim& x) { return -x; }
Dim not_dim(const Dim& x) { return Dim(1) - x; }
Dim abs_dim(const Dim& x) { return ir::unary(ir::UnaryOp::Abs, x); }
Dim same_dim(const Dim& x) { return x; }  // of a whole number
Expr reciprocal(const Expr& x) { return 1 / x; }
Expr logical_not(const Expr& x) { return !x; }
Expr bitwise_not(const Expr& x) { return ~x; }
Expr relu(const Expr& x) { return te::max(x, 0); }

Expr sign(const Expr& x) {
  if (!ir::is_float(x.elem()) && !ir::is_signed(x.elem())) return te::min(x, 1);
  return te::select(x > 0, te::cast(x.elem(), 1), te::select(x < 0, te::cast(x.elem(), -1), x));
}

/// ONNX defines it on integers too.
Expr erf(const Expr& x) {
  if (ir::is_float(x.elem())) return te::erf(x);
  return te::cast(x.elem(), te::erf(te::cast(ir::Elem::F64, x)));
}

Expr sigmoid(const Expr& x) {
  return in_wide(x, [](const Expr& v) { return 1 / (1 + te::exp(-v)); });
}

/// log(1 + exp(x)) without overflow.
Expr softplus_of(const Expr& x) { return te::max(x, 0) + te::log1p(te::exp(-te::abs(x))); }
Expr softplus(const Expr& x) { return in_wide(x, softplus_of); }

Expr mish(const Expr& x) {
  return in_wide(x, [](const Expr& v) { return v * te::tanh(softplus_of(v)); });
}

Expr softsign(const Expr& x) {
  return in_wide(x, [](const Expr& v) { return v / (1 + te::abs(v)); });
}

/// v * clip(v + 3, 0, 6) / 6, as most models write it, with 1/6 in two parts instead of the
/// division. In f64 it is what ONNX says: HardSigmoid with an attribute, which is an f32.
Expr hard_swish(const Expr& x) {
  constexpr double high = 1.0F / 6.0F, low = 1.0 / 6.0 - high;
  return in_wide(x, [](const Expr& v) {
    if (v.elem() == ir::Elem::F64) return v * te::max(te::min(v * high + 0.5, 1), 0);
    const Expr t = te::max(te::min(v + 3, 6), 0);
    return v * (t * high + t * low);
  });
}

}  // namespace

std::span<const OpDef> unary_ops() {
  using enum Kind;
  static const std::vector<OpDef> rows = {
      row_with_elements<te::abs, Number, abs_dim>("abs", "Abs"),
      row_with_elements<neg, Signed, neg_dim>("neg", "Neg"),
      row<te::exp, Float>("exp", "Exp"),
      row<te::log, Float>("log", "Log"),
      row<te::sqrt, Float>("sqrt", "Sqrt"),
      row<reciprocal, Float>("reciprocal", "Reciprocal"),
      row<te::sin, Float>("sin", "Sin"),
      row<te::cos, Float>("cos", "Cos"),
      row<te::tan, Float>("tan", "Tan"),
      row<te::asin, Float>("asin", "Asin"),
      row<te::acos, Float>("acos", "Acos"),
      row<te::atan, Float>("atan", "Atan"),
      row<te::sinh, Float>("sinh", "Sinh"),
      row<te::cosh, Float>("cosh", "Cosh"),
      row<te::tanh, Float>("tanh", "Tanh"),
      row<te::asinh, Float>("asinh", "Asinh"),
      row<te::acosh, Float>("acosh", "Acosh"),
      row<te::atanh, Float>("atanh", "Atanh"),
      row<erf, Number>("erf", "Erf"),
      row_with_elements<te::floor, Float, same_dim>("floor", "Floor"),
      row_with_elements<te::ceil, Float, same_dim>("ceil", "Ceil"),
      row_with_elements<te::round, Float, same_dim>("round", "Round"),  // half to even
      row<sign, Number>("sign", "Sign"),
      row_with_elements<logical_not, Bool, not_dim>("not", "Not"),
      row<bitwise_not, Int>("bitwise_not", "BitwiseNot"),
      row_bool<te::isnan, Float>("isnan", "IsNaN"),
      row<relu, Number>("relu", "Relu"),
      row<sigmoid, Float>("sigmoid", "Sigmoid"),
      row<hard_swish, Float>("hard_swish", "HardSwish"),
      row<softplus, Float>("softplus", "Softplus"),
      row<softsign, Float>("softsign", "Softsign"),
      row<mish, Float>("mish", "Mish"),
  };
  return rows;
}

}  // namespace tilewright::ops
