// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState: a depthwise convolution over what came before and the input, and what the
// next call must know of it.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct CausalConvAttrs {
  bool silu = false;
  static constexpr auto fields = std::tuple{field("silu", &CausalConvAttrs::silu)};
};

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_rank(call, 0, 3);
  need_rank(call, 1, 3);
  const Shape &x = call.shape(0), &w = call.shape(1);
  call.equal(w[0], x[1], "channels of the weights and of the input");
  call.equal(w[1], Dim(1), "the second dimension of the weights");
  if (call.has(2)) {
    need_rank(call, 2, 1);
    call.equal(call.shape(2)[0], x[1], "the bias and the channels");
  }
  const Shape state = {x[0], x[1], call.extent(w[2] - 1)};
  if (call.has(3)) {
    need_rank(call, 3, 3);
    for (size_t d = 0; d < 3; ++d) call.equal(call.shape(3)[d], state[d], "the past state");
  }
  for (const size_t i : {1, 2, 3})
    if (call.has(i)) need_same_elem(call, 0, i);
  return {tensor_of(call.elem(0), x), tensor_of(call.elem(0), state)};
}

std::vector<te::Tensor> define(const Call& call) {
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const te::Tensor& x = call.in(0);
  const Dim kernel = call.shape(1)[2], before = simplified(kernel - 1);
  te::Shape padded_shape = shape_of(x);
  padded_shape[2] = simplified(call.shape(0)[2] + before);
  const te::Tensor padded = te::compute(
      "padded", padded_shape, [&](const te::Var& n, const te::Var& c, const te::Var& t) {
        const Expr past = call.has(3) ? call.in(3)(n, c, t) : te::cast(elem, 0);
        return te::guard(t < Expr(before), past, x(n, c, t - Expr(before)));
      });
  const te::Axis k = te::reduce_axis(kernel, "k");
  const te::Tensor sum = te::compute(
      "causal_conv", shape_of(x), [&](const te::Var& n, const te::Var& c, const te::Var& t) {
        return te::sum(as(acc, padded(n, c, t + k)) * as(acc, call.in(1)(c, 0, k)), k);
      });
  const te::Tensor y = te::compute("activated", shape_of(x),
                                   [&](const te::Var& n, const te::Var& c, const te::Var& t) {
                                     Expr v = sum(n, c, t);
                                     if (call.has(2)) v = v + as(acc, call.in(2)(c));
                                     if (call.attrs<CausalConvAttrs>().silu)
                                       v = v / (1 + te::exp(-v));
                                     return as(elem, v);
                                   });
  te::Shape state = shape_of(x);
  state[2] = before;
  return {y, te::compute("state", state, [&](const te::Var& n, const te::Var& c, const te::Var& t) {
            return padded(n, c, t + Expr(call.shape(0)[2]));
          })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const std::string activation = n.attr_string("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none")
    n.refuse("ops.causal_conv.activation", str("activation is \"", activation, "\""),
             "use none, silu or swish");
  g.outputs(n, g.calls(causal_conv_op(), CausalConvAttrs{silu},
                       {n.need(0), n.need(1), n.in(2), n.in(3)}, 2));
}

}  // namespace

const OpDef& causal_conv_op() {
  static const OpDef def = define_op<CausalConvAttrs>(
      {.name = "causal_conv",
       .fusion = FusionKind::OutFusable,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}},
       .onnx = {{.op = "CausalConvWithState", .from = 27, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
