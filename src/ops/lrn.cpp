// SPDX-License-Identifier: Apache-2.0
// LRN: y = x / (bias + alpha / size * sum of squares of the channels around)^beta
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct LrnAttrs {
  int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;
  static constexpr auto fields =
      std::tuple{field("size", &LrnAttrs::size), field("alpha", &LrnAttrs::alpha),
                 field("beta", &LrnAttrs::beta), field("bias", &LrnAttrs::bias)};
};

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_min_rank(call, 0, 2);
  need_at_least(call, "size", {call.attrs<LrnAttrs>().size}, 1);
  return {tensor_of(call.elem(0), call.shape(0))};
}

std::vector<te::Tensor> define(const Call& call) {
  const LrnAttrs& attrs = call.attrs<LrnAttrs>();
  const te::Tensor& x = call.in(0);
  const ir::Elem acc = wide(x.elem());
  const int64_t before = (attrs.size - 1) / 2;
  const Expr channels = call.shape(0)[1];
  te::Shape shape = shape_of(x);
  shape[1] = channels + (attrs.size - 1);
  const te::Tensor squares = te::compute("squares", shape, [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    at[1] = at[1] - before;
    const Expr v = as(acc, x.at(at));
    return te::guard(0 <= at[1] && at[1] < channels, v * v, te::cast(acc, 0));
  });
  const te::Axis k = te::reduce_axis(attrs.size, "k");
  const te::Tensor sum = te::compute("sum", shape_of(x), [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    at[1] = at[1] + k;
    return te::sum(squares.at(at), k);
  });
  const double factor = attrs.alpha / static_cast<double>(attrs.size);
  return {te::map(x, sum, [&](const Expr& v, const Expr& s) {
    return as(x.elem(), as(acc, v) / te::pow(attrs.bias + factor * s, attrs.beta));
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const LrnAttrs attrs{.size = n.attr_int("size"),
                       .alpha = n.attr_float("alpha", 1e-4F),
                       .beta = n.attr_float("beta", 0.75F),
                       .bias = n.attr_float("bias", 1)};
  g.output(n, g.call(lrn_op(), attrs, {n.need(0)}));
}

}  // namespace

const OpDef& lrn_op() {
  static const OpDef def =
      define_op<LrnAttrs>({.name = "lrn",
                           .fusion = FusionKind::Reduction,
                           .infer = infer,
                           .algorithms = {{.name = "direct", .define = define}},
                           .onnx = {{.op = "LRN", .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
