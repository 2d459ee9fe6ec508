// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss, which is that of a LogSoftmax.
#include <limits>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

enum class LossReduction : uint8_t { None, Sum, Mean };

struct NllLossAttrs {
  LossReduction reduction = LossReduction::Mean;
  bool ignores = false;  // a target of `ignored` does not count
  int64_t ignored = 0;
  static constexpr auto fields = std::tuple{field("reduction", &NllLossAttrs::reduction),
                                            field("ignores", &NllLossAttrs::ignores),
                                            field("ignored", &NllLossAttrs::ignored)};
};

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_min_rank(call, 0, 2);
  need_int(call, 1);
  need_rank(call, 1, call.rank(0) - 1);
  const Shape &x = call.shape(0), &target = call.shape(1);
  for (size_t d = 0; d < target.size(); ++d)
    call.equal(target[d], x[d == 0 ? 0 : d + 1], "the targets and the input without its classes");
  if (call.has(2)) {
    need_same_elem(call, 0, 2);
    need_rank(call, 2, 1);
    call.equal(call.shape(2)[0], x[1], "the weights and the classes");
  }
  const bool all = call.attrs<NllLossAttrs>().reduction == LossReduction::None;
  return {tensor_of(call.elem(0), all ? target : Shape{})};
}

std::vector<te::Tensor> define(const Call& call) {
  const NllLossAttrs& attrs = call.attrs<NllLossAttrs>();
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const Expr classes = call.shape(0)[1];
  const te::Shape shape = te_shape(call.shape(1));
  const auto target = [&](const At& at) { return te::cast(ir::Elem::I64, call.in(1).at(at)); };
  const auto valid = [&](const Expr& t) { return 0 <= t && t < classes; };
  const te::Tensor weight = te::compute("weight", shape, [&](const std::vector<te::Var>& point) {
    const Expr t = target(indices_of(point));
    const Expr w = call.has(2) ? te::guard(valid(t), as(acc, call.in(2)(t)), te::cast(acc, 0))
                               : te::cast(acc, 1);
    return attrs.ignores ? te::select(t == attrs.ignored, te::cast(acc, 0), w) : w;
  });
  // A target that is no class and is not ignored gives NaN.
  const te::Tensor loss = te::compute("loss", shape, [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    const Expr w = weight.at(at), t = target(at);
    at.insert(at.begin() + 1, t);
    Expr x = te::guard(valid(t), as(acc, call.in(0).at(at)),
                       te::cast(acc, std::numeric_limits<double>::quiet_NaN()));
    if (attrs.ignores) x = te::select(t == attrs.ignored, te::cast(acc, 0), x);
    return -x * w;
  });
  if (attrs.reduction == LossReduction::None) return {as(elem, loss)};
  const auto total = [&](const te::Tensor& t) {
    std::vector<te::Axis> over;
    for (const ir::Expr& extent : t.shape()) over.push_back(te::reduce_axis(extent));
    return te::compute(str(t.name(), "_total"), {},
                       [&] { return te::sum(t.at(At(over.begin(), over.end())), te::Axes(over)); });
  };
  const te::Tensor sum = total(loss);
  if (attrs.reduction == LossReduction::Sum) return {as(elem, sum)};
  return {as(elem, sum / total(weight))};
}

NllLossAttrs attrs_of(const OnnxNode& n) {
  NllLossAttrs attrs{.ignores = n.has_attr("ignore_index"),
                     .ignored = n.attr_int("ignore_index", 0)};
  const std::string reduction = n.attr_string("reduction", "mean");
  if (reduction == "none")
    attrs.reduction = LossReduction::None;
  else if (reduction == "sum")
    attrs.reduction = LossReduction::Sum;
  else if (reduction != "mean")
    n.refuse("ops.nll_loss.reduction", str("reduction is \"", reduction, "\""),
             "use none, sum or mean");
  return attrs;
}

void nll_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(nll_loss_op(), attrs_of(n), {n.need(0), n.need(1), n.in(2)}));
}

void cross_entropy_from_onnx(const OnnxNode& n, Builder& g) {
  const ValueId logs = g.call(op("log_softmax"), SoftmaxAttrs{.axis = 1}, {n.need(0)});
  const ValueId loss = g.call(nll_loss_op(), attrs_of(n), {logs, n.need(1), n.in(2)});
  g.outputs(n, {loss, logs});
}

}  // namespace

const OpDef& nll_loss_op() {
  static const OpDef def = define_op<NllLossAttrs>(
      {.name = "nll_loss",
       .fusion = FusionKind::Reduction,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}},
       .onnx = {{.op = "NegativeLogLikelihoodLoss", .from = 12, .rule = nll_from_onnx},
                {.op = "SoftmaxCrossEntropyLoss", .from = 12, .rule = cross_entropy_from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
