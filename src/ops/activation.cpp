// SPDX-License-Identifier: Apache-2.0
// Functions of single elements with up to two numbers as attributes, one row each.
#include <numbers>

#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/kind.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

template <Kind K>
std::vector<Type> infer(const Call& call) {
  need(call, 0, K, "ops.activation.type");
  return {call.type(0)};
}

using Function = Expr(const Expr& x, double alpha, double beta);

template <Function* F>
std::vector<te::Tensor> define(const Call& call) {
  const auto& [alpha, beta] = call.attrs<ActivationAttrs>();
  return {te::map(call.in(0), [&](const Expr& x) {
    return in_wide(x, [&](const Expr& v) { return F(v, alpha, beta); });
  })};
}

Expr leaky_relu(const Expr& x, double alpha, double) { return te::select(x < 0, alpha * x, x); }

/// exp is bounded by 1 where it is chosen, so that it never overflows.
Expr elu(const Expr& x, double alpha, double) {
  return te::select(x < 0, alpha * (te::exp(te::min(x, 0)) - 1), x);
}
Expr selu(const Expr& x, double alpha, double gamma) {
  return gamma * te::select(x > 0, x, alpha * te::exp(te::min(x, 0)) - alpha);
}
Expr celu(const Expr& x, double alpha, double) {
  return te::max(x, 0) + te::min(alpha * (te::exp(x / alpha) - 1), 0);
}
Expr hard_sigmoid(const Expr& x, double alpha, double beta) {
  return te::max(te::min(alpha * x + beta, 1), 0);
}
Expr thresholded_relu(const Expr& x, double alpha, double) {
  return te::select(x > alpha, x, te::cast(x.elem(), 0));
}
Expr swish(const Expr& x, double alpha, double) { return x / (1 + te::exp(-(alpha * x))); }

/// ONNX defines it on integers too.
Expr shrink(const Expr& x, double lambda, double bias) {
  if (!ir::is_float(x.elem()))
    return te::cast(x.elem(), shrink(te::cast(ir::Elem::F64, x), lambda, bias));
  return te::select(x < -lambda, x + bias, te::select(x > lambda, x - bias, te::cast(x.elem(), 0)));
}

Expr gelu(const Expr& x, double, double) {
  return 0.5 * x * (1 + te::erf(x * (1 / std::numbers::sqrt2)));
}
Expr gelu_tanh(const Expr& x, double, double) {
  constexpr double kScale = 0.7978845608028654;  // sqrt(2 / pi)
  return 0.5 * x * (1 + te::tanh(kScale * (x + 0.044715 * x * x * x)));
}

std::vector<Type> infer_isinf(const Call& call) {
  need(call, 0, Kind::Float, "ops.isinf.type");
  TensorType out = call.tensor(0);
  out.elem = ir::Elem::Bool;
  return {out};
}

std::vector<te::Tensor> define_isinf(const Call& call) {
  const auto& [positive, negative] = call.attrs<IsInfAttrs>();
  return {te::map(call.in(0), [&](const Expr& x) {
    return te::isinf(x) && ((Expr(positive) && x > 0) || (Expr(negative) && x < 0));
  })};
}

/// Where a row's numbers come from in an ONNX node.
struct Source {
  std::string_view onnx, op;
  std::string_view alpha = "alpha";
  double alpha_default = 0;
  std::string_view beta = "beta";
  double beta_default = 0;
};
constexpr Source kSources[] = {
    {"LeakyRelu", "leaky_relu", "alpha", 0.01},
    {"Elu", "elu", "alpha", 1},
    {"Selu", "selu", "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875},
    {"Celu", "celu", "alpha", 1},
    {"HardSigmoid", "hard_sigmoid", "alpha", 0.2, "beta", 0.5},
    {"ThresholdedRelu", "thresholded_relu", "alpha", 1},
    {"Swish", "swish", "alpha", 1},
    {"Shrink", "shrink", "lambd", 0.5, "bias", 0},
};

void from_onnx(const OnnxNode& n, Builder& g) {
  for (const Source& s : kSources) {
    if (s.onnx != n.op) continue;
    const ActivationAttrs attrs{n.attr_float(s.alpha, static_cast<float>(s.alpha_default)),
                                n.attr_float(s.beta, static_cast<float>(s.beta_default))};
    return g.output(n, g.call(op(s.op), attrs, {n.need(0)}));
  }
}

void gelu_from_onnx(const OnnxNode& n, Builder& g) {
  const std::string form = n.attr_string("approximate", "none");
  if (form != "none" && form != "tanh")
    n.refuse("ops.gelu.approximate", "the attribute `approximate` is neither `none` nor `tanh`",
             "use one of them");
  g.output(n, g.call(op(form == "tanh" ? "gelu_tanh" : "gelu"), ActivationAttrs{}, {n.need(0)}));
}

/// swish(a) * b
void swiglu_from_onnx(const OnnxNode& n, Builder& g) {
  const ActivationAttrs attrs{n.attr_float("alpha", 1), 0};
  const ValueId gate = g.call(op("swish"), attrs, {n.need(0)});
  g.output(n, g.call(op("mul"), NoAttrs{}, {gate, n.need(1)}));
}

void isinf_from_onnx(const OnnxNode& n, Builder& g) {
  const IsInfAttrs attrs{n.attr_int("detect_positive", 1) != 0,
                         n.attr_int("detect_negative", 1) != 0};
  g.output(n, g.call(op("isinf"), attrs, {n.need(0)}));
}

template <Function* F, Kind K = Kind::Float>
OpDef row(std::string_view name, std::vector<OnnxRule> onnx) {
  return define_op<ActivationAttrs>({.name = name,
                                     .fusion = FusionKind::Injective,
                                     .infer = infer<K>,
                                     .algorithms = {{.name = "direct", .define = define<F>}},
                                     .onnx = std::move(onnx)});
}

OnnxRule plain(std::string_view onnx) { return {.op = onnx, .rule = from_onnx}; }

}  // namespace

std::span<const OpDef> activation_ops() {
  static const std::vector<OpDef> rows = {
      row<leaky_relu>("leaky_relu", {plain("LeakyRelu")}),
      row<elu>("elu", {plain("Elu")}),
      row<selu>("selu", {plain("Selu")}),
      row<celu>("celu", {plain("Celu")}),
      row<hard_sigmoid>("hard_sigmoid", {plain("HardSigmoid")}),
      row<thresholded_relu>("thresholded_relu", {plain("ThresholdedRelu")}),
      row<swish>("swish", {plain("Swish"), {.op = "SwiGLU", .rule = swiglu_from_onnx}}),
      row<shrink, Kind::Number>("shrink", {plain("Shrink")}),
      row<gelu>("gelu", {{.op = "Gelu", .rule = gelu_from_onnx}}),
      row<gelu_tanh>("gelu_tanh", {}),
      define_op<IsInfAttrs>({.name = "isinf",
                             .fusion = FusionKind::Injective,
                             .infer = infer_isinf,
                             .algorithms = {{.name = "direct", .define = define_isinf}},
                             .onnx = {{.op = "IsInf", .rule = isinf_from_onnx}}}),
  };
  return rows;
}

}  // namespace tilewright::ops
