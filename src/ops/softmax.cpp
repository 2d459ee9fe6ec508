// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_node.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;

std::vector<Type> infer(const Call& call) {
  normal_axis(call, call.attrs<SoftmaxAttrs>().axis, call.rank(0));
  return {call.type(0)};
}

std::vector<te::Tensor> stable(const Call& call) {
  const int axis = normal_axis(call, call.attrs<SoftmaxAttrs>().axis, call.rank(0));
  const te::Tensor e = te::exp(call.in(0) - te::max_over(call.in(0), axis));  // keeps exp finite
  return {e / te::sum_over(e, axis)};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(softmax_op(), SoftmaxAttrs{n.attr_int("axis", -1)}, {n.need(0)}));
}

}  // namespace

const OpDef& softmax_op() {
  static const OpDef def =
      define_op<SoftmaxAttrs>({.name = "softmax",
                               .fusion = FusionKind::Reduction,
                               .infer = infer,
                               .algorithms = {{.name = "stable", .define = stable}},
                               .onnx = {{.op = "Softmax", .from = 13, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
