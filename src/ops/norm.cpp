// SPDX-License-Identifier: Apache-2.0
// Normalisations by the statistics of each row, group or instance of the input itself.
#include <algorithm>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

Expr square(const Expr& x) { return x * x; }

struct Statistics {
  te::Tensor mean, variance;  // with the reduced dimensions kept
};
Statistics statistics(const te::Tensor& x, const std::vector<int>& axes) {
  const Expr count = te::cast(x.elem(), count_of(x, axes));
  const te::Tensor mean = reduce_dims(x, axes, te::sum) / count;
  return {mean, reduce_dims(x - mean, axes, te::sum, square) / count};
}

te::Tensor inverse_deviation(const te::Tensor& variance, double epsilon) {
  return te::map(variance, [&](const Expr& v) { return 1 / te::sqrt(v + epsilon); });
}

/// What sums are computed in: at least f32, whatever narrower type `stash_type` names.
ir::Elem stash(const Call& call) { return wide(call.elem(0)); }

int first_axis(const Call& call) {
  return normal_axis(call, call.attrs<NormAttrs>().axis, call.rank(0));
}

void check_broadcast(const Call& call, size_t i) {
  if (!call.has(i)) return;
  need_float(call, i);
  if (call.rank(i) > call.rank(0)) need_rank(call, i, call.rank(0));
  broadcast(call, call.shape(i), call.shape(0));
}

Shape statistics_shape(const Call& call) {
  Shape out = call.shape(0);
  for (size_t d = static_cast<size_t>(first_axis(call)); d < out.size(); ++d) out[d] = Dim(1);
  return out;
}

std::vector<Type> infer_layer(const Call& call) {
  need_float(call, 0);
  check_broadcast(call, 1);
  check_broadcast(call, 2);
  const ir::Elem stat = call.attrs<NormAttrs>().stash;
  const Type statistic = tensor_of(stat, statistics_shape(call));
  return {tensor_of(call.elem(0), call.shape(0)), statistic, statistic};
}

std::vector<te::Tensor> define_layer(const Call& call) {
  const NormAttrs& attrs = call.attrs<NormAttrs>();
  const ir::Elem acc = stash(call), elem = call.elem(0);
  const te::Tensor x = as(acc, call.in(0));
  const auto [mean, variance] = statistics(x, range(first_axis(call), x.rank()));
  const te::Tensor inverse = inverse_deviation(variance, attrs.epsilon);
  const te::Tensor y =
      te::compute("layer_norm", shape_of(x), [&](const std::vector<te::Var>& axes) {
        const At at = indices_of(axes);
        Expr v = (x.at(at) - broadcast_read(mean, at)) * broadcast_read(inverse, at);
        v = v * as(acc, broadcast_read(call.in(1), at));
        if (call.has(2)) v = v + as(acc, broadcast_read(call.in(2), at));
        return as(elem, v);
      });
  return {y, as(attrs.stash, mean), as(attrs.stash, inverse)};
}

std::vector<Type> infer_rms(const Call& call) {
  need_float(call, 0);
  check_broadcast(call, 1);
  first_axis(call);
  return {tensor_of(call.elem(0), call.shape(0))};
}

std::vector<te::Tensor> define_rms(const Call& call) {
  const NormAttrs& attrs = call.attrs<NormAttrs>();
  const ir::Elem acc = stash(call), elem = call.elem(0);
  const te::Tensor x = as(acc, call.in(0));
  const std::vector<int> axes = range(first_axis(call), x.rank());
  const te::Tensor squares =
      reduce_dims(x, axes, te::sum, square) / te::cast(acc, count_of(x, axes));
  const te::Tensor inverse = inverse_deviation(squares, attrs.epsilon);
  return {te::compute("rms_norm", shape_of(x), [&](const std::vector<te::Var>& point) {
    const At at = indices_of(point);
    return as(elem,
              x.at(at) * broadcast_read(inverse, at) * as(acc, broadcast_read(call.in(1), at)));
  })};
}

/// Groups of channels; InstanceNormalization has one channel in each. Scale and bias have a value
/// per channel, or in opset 18 per group.
std::vector<Type> infer_group(const Call& call) {
  const int64_t groups = call.attrs<NormAttrs>().groups;
  need_min_rank(call, 0, 2);
  const Dim channels = call.shape(0)[1];
  if (groups)
    call.check(ir::eq(channels % Dim(std::max<int64_t>(groups, 1)), Dim(0)),
               str("num_groups ", groups, " does not divide the channels"));
  for (size_t i = 0; i < 3; ++i) {
    need_float(call, i);
    if (i == 0) continue;
    need_rank(call, i, 1);
    call.equal(call.shape(i)[0], call.attrs<NormAttrs>().per_group ? Dim(groups) : channels,
               "a parameter and the channels of the input");
  }
  return {tensor_of(call.elem(0), call.shape(0))};
}

std::vector<te::Tensor> define_group(const Call& call) {
  const NormAttrs& attrs = call.attrs<NormAttrs>();
  const ir::Elem acc = stash(call), elem = call.elem(0);
  const te::Tensor& x = call.in(0);
  const Dim channels = call.shape(0)[1];
  const Dim groups = attrs.groups ? Dim(attrs.groups) : channels;
  const Dim size = attrs.groups ? simplified(channels / attrs.groups) : Dim(1);
  // As [N, groups, channels of a group, …], with statistics over all but the first two.
  te::Shape shape = shape_of(x);
  shape[1] = groups;
  shape.insert(shape.begin() + 2, Expr(size));
  const te::Tensor grouped = te::compute("grouped", shape, [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    at[1] = ir::is_const(size, 1) ? at[1] : at[1] * size + at[2];
    at.erase(at.begin() + 2);
    return as(acc, x.at(at));
  });
  const auto [mean, variance] = statistics(grouped, range(2, grouped.rank()));
  const te::Tensor inverse = inverse_deviation(variance, attrs.epsilon);
  return {te::compute("group_norm", shape_of(x), [&](const std::vector<te::Var>& point) {
    const At at = indices_of(point);
    const Expr group = ir::is_const(size, 1) ? at[1] : at[1] / size;
    At of_group(static_cast<size_t>(mean.rank()), Expr(0));
    of_group[0] = at[0];
    of_group[1] = group;
    const Expr parameter = attrs.per_group ? group : at[1];
    const Expr v = (as(acc, x.at(at)) - mean.at(of_group)) * inverse.at(of_group);
    return as(elem, v * as(acc, call.in(1)(parameter)) + as(acc, call.in(2)(parameter)));
  })};
}

std::vector<int> listed_axes(const Call& call) {
  std::vector<int> out;
  for (const int64_t axis : call.attrs<NormAttrs>().axes)
    out.push_back(normal_axis(call, axis, call.rank(0)));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<Type> infer_plain(const Call& call) {
  need_float(call, 0);
  listed_axes(call);
  return {tensor_of(call.elem(0), call.shape(0))};
}

/// (x - mean) / (deviation + epsilon)
std::vector<te::Tensor> define_mean_variance(const Call& call) {
  const NormAttrs& attrs = call.attrs<NormAttrs>();
  const te::Tensor x = as(stash(call), call.in(0));
  const auto [mean, variance] = statistics(x, listed_axes(call));
  const te::Tensor deviation =
      te::map(variance, [&](const Expr& v) { return te::sqrt(v) + attrs.epsilon; });
  return {as(call.elem(0), (x - mean) / deviation)};
}

/// x / norm, and 0 where the norm is 0.
std::vector<te::Tensor> define_lp(const Call& call) {
  const double p = call.attrs<NormAttrs>().p;
  const te::Tensor x = as(stash(call), call.in(0));
  const te::Tensor sum =
      reduce_dims(x, listed_axes(call), te::sum, [&](const Expr& v) { return power(v, p); });
  const te::Tensor norm = te::map(sum, [&](const Expr& s) { return root(s, p); });
  return {te::map(x, norm, [&](const Expr& v, const Expr& n) {
    return as(call.elem(0), te::select(n == 0, te::cast(v.elem(), 0), v / n));
  })};
}

NormAttrs attrs_of(const OnnxNode& n) {
  NormAttrs out{.axis = n.attr_int("axis", -1), .epsilon = n.attr_float("epsilon", 1e-5F)};
  out.stash = n.attr_elem("stash_type").value_or(ir::Elem::F32);
  return out;
}

void layer_from_onnx(const OnnxNode& n, Builder& g) {
  g.outputs(n, g.calls(layer_norm_op(), attrs_of(n), {n.need(0), n.need(1), n.in(2)}, 3));
}
void rms_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(rms_norm_op(), attrs_of(n), {n.need(0), n.need(1)}));
}
void instance_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(group_norm_op(), attrs_of(n), {n.need(0), n.need(1), n.need(2)}));
}
void group_from_onnx(const OnnxNode& n, Builder& g) {
  NormAttrs attrs = attrs_of(n);
  attrs.groups = n.attr_int("num_groups");
  attrs.per_group = n.opset < 21;
  if (attrs.groups < 1)
    n.refuse("ops.group_norm.groups", str("num_groups is ", attrs.groups), "give at least 1");
  g.output(n, g.call(group_norm_op(), attrs, {n.need(0), n.need(1), n.need(2)}));
}
void mean_variance_from_onnx(const OnnxNode& n, Builder& g) {
  const NormAttrs attrs{.axes = n.attr_ints("axes", {0, 2, 3}), .epsilon = 1e-9};
  g.output(n, g.call(mean_variance_norm_op(), attrs, {n.need(0)}));
}
void lp_from_onnx(const OnnxNode& n, Builder& g) {
  const NormAttrs attrs{.axes = {n.attr_int("axis", -1)},
                        .p = static_cast<double>(n.attr_int("p", 2))};
  g.output(n, g.call(lp_norm_op(), attrs, {n.need(0)}));
}

OpDef norm(std::string_view name, std::vector<Type> (*infer)(const Call&),
           std::vector<te::Tensor> (*define)(const Call&), std::vector<OnnxRule> onnx) {
  return define_op<NormAttrs>({.name = name,
                               .fusion = FusionKind::Reduction,
                               .infer = infer,
                               .algorithms = {{.name = "two_pass", .define = define}},
                               .onnx = std::move(onnx)});
}

}  // namespace

const OpDef& group_norm_op() {
  static const OpDef def =
      norm("group_norm", infer_group, define_group,
           {{.op = "InstanceNormalization", .rule = instance_from_onnx},
            {.op = "GroupNormalization", .from = 18, .rule = group_from_onnx}});
  return def;
}

const OpDef& layer_norm_op() {
  static const OpDef def =
      norm("layer_norm", infer_layer, define_layer,
           {{.op = "LayerNormalization", .from = 17, .rule = layer_from_onnx}});
  return def;
}

const OpDef& lp_norm_op() {
  static const OpDef def =
      norm("lp_norm", infer_plain, define_lp, {{.op = "LpNormalization", .rule = lp_from_onnx}});
  return def;
}

const OpDef& mean_variance_norm_op() {
  static const OpDef def =
      norm("mean_variance_norm", infer_plain, define_mean_variance,
           {{.op = "MeanVarianceNormalization", .from = 9, .rule = mean_variance_from_onnx}});
  return def;
}

const OpDef& rms_norm_op() {
  static const OpDef def = norm("rms_norm", infer_rms, define_rms,
                                {{.op = "RMSNormalization", .from = 23, .rule = rms_from_onnx}});
  return def;
}

}  // namespace tilewright::ops
