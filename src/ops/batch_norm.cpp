// SPDX-License-Identifier: Apache-2.0
// BatchNormalization with given statistics, and with those of the batch.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

/// One value per channel, or before opset 9 with `spatial` off one per element of a batch.
Shape parameter_shape(const Call& call) {
  const Shape& x = call.shape(0);
  if (!call.attrs<BatchNormAttrs>().per_element) return {x.size() < 2 ? Dim(1) : x[1]};
  return Shape(x.begin() + 1, x.end());
}

void check(const Call& call) {
  need_min_rank(call, 0, 1);
  const Shape want = parameter_shape(call);
  for (size_t i = 0; i < 5; ++i) {
    need_float(call, i);
    if (i == 0) continue;
    need_rank(call, i, static_cast<int>(want.size()));
    for (size_t d = 0; d < want.size(); ++d)
      call.equal(call.shape(i)[d], want[d], "a parameter and the channels of the input");
  }
}

std::vector<Type> infer(const Call& call) {
  check(call);
  return {tensor_of(call.elem(0), call.shape(0))};
}

ir::Elem compute_elem(const Call& call) {
  for (size_t i = 0; i < 5; ++i)
    if (call.elem(i) == ir::Elem::F64) return ir::Elem::F64;
  return ir::Elem::F32;
}

Expr parameter(const te::Tensor& t, const At& at, bool per_element) {
  if (per_element) return t.at(At(at.begin() + 1, at.end()));
  return t(at.size() < 2 ? Expr(0) : at[1]);
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias
te::Tensor normalised(const Call& call, const te::Tensor& mean, const te::Tensor& variance,
                      ir::Elem acc) {
  const BatchNormAttrs& attrs = call.attrs<BatchNormAttrs>();
  return te::compute("batch_norm", shape_of(call.in(0)), [&](const std::vector<te::Var>& axes) {
    const At at = indices_of(axes);
    const auto value = [&](const te::Tensor& t) {
      return as(acc, parameter(t, at, attrs.per_element));
    };
    const Expr x = as(acc, call.in(0).at(at));
    const Expr factor = value(call.in(1)) / te::sqrt(value(variance) + attrs.epsilon);
    return as(call.elem(0), (x - value(mean)) * factor + value(call.in(2)));
  });
}

std::vector<te::Tensor> define(const Call& call) {
  return {normalised(call, call.in(3), call.in(4), compute_elem(call))};
}

std::vector<Type> infer_training(const Call& call) {
  check(call);
  const Shape shape = parameter_shape(call);
  const Type running = tensor_of(call.elem(3), shape);
  return {tensor_of(call.elem(0), call.shape(0)), running, running, running, running};
}

std::vector<te::Tensor> define_training(const Call& call) {
  const BatchNormAttrs& attrs = call.attrs<BatchNormAttrs>();
  const ir::Elem acc = compute_elem(call), stored = call.elem(3);
  const te::Tensor x = as(acc, call.in(0));
  std::vector<int> axes = {0};
  if (!attrs.per_element)
    for (const int d : range(2, x.rank())) axes.push_back(d);
  const Expr count = te::cast(acc, count_of(x, axes));
  // The statistics keep their reduced dimensions; `flat` brings them into the parameters' shape.
  const te::Tensor mean = reduce_dims(x, axes, te::sum) / count;
  const te::Tensor variance =
      reduce_dims(x - mean, axes, te::sum, [](const Expr& d) { return d * d; }) / count;
  const auto flat = [&](const te::Tensor& t) {
    return te::compute(te_shape(parameter_shape(call)), [&](const std::vector<te::Var>& p) {
      At at(static_cast<size_t>(t.rank()), Expr(0));
      for (size_t d = 0; d < p.size() && d + 1 < at.size(); ++d) at[d + 1] = p[d];
      return t.at(at);
    });
  };
  const te::Tensor batch_mean = flat(mean), batch_variance = flat(variance);
  const auto running = [&](size_t i, const te::Tensor& now) {
    return te::map(call.in(i), now, [&](const Expr& old, const Expr& value) {
      return as(stored, as(acc, old) * attrs.momentum + value * (1 - attrs.momentum));
    });
  };
  return {normalised(call, batch_mean, batch_variance, acc), running(3, batch_mean),
          running(4, batch_variance), as(stored, batch_mean), as(stored, batch_variance)};
}

BatchNormAttrs attrs_of(const OnnxNode& n) {
  return {.epsilon = n.attr_float("epsilon", 1e-5F),
          .momentum = n.attr_float("momentum", 0.9F),
          .per_element = n.attr_int("spatial", 1) == 0};
}

/// Training is asked for by an attribute, before opset 14 by wanting the statistics.
void from_onnx(const OnnxNode& n, Builder& g) {
  const std::vector<ValueId> inputs = {n.need(0), n.need(1), n.need(2), n.need(3), n.need(4)};
  bool training = n.attr_int("training_mode", 0) != 0;
  if (n.opset < 14 && !n.attr_int("is_test", 0))
    for (size_t i = 1; i < 5; ++i) training = training || n.wants(i);
  if (training)
    g.outputs(n, g.calls(batch_norm_training_op(), attrs_of(n), inputs, n.opset < 14 ? 5 : 3));
  else
    g.output(n, g.call(batch_norm_op(), attrs_of(n), inputs));
}

}  // namespace

const OpDef& batch_norm_op() {
  static const OpDef def =
      define_op<BatchNormAttrs>({.name = "batch_norm",
                                 .fusion = FusionKind::Injective,
                                 .infer = infer,
                                 .algorithms = {{.name = "direct", .define = define}},
                                 .onnx = {{.op = "BatchNormalization", .rule = from_onnx}}});
  return def;
}

const OpDef& batch_norm_training_op() {
  static const OpDef def =
      define_op<BatchNormAttrs>({.name = "batch_norm_training",
                                 .fusion = FusionKind::Reduction,
                                 .infer = infer_training,
                                 .algorithms = {{.name = "two_pass", .define = define_training}}});
  return def;
}

}  // namespace tilewright::ops
