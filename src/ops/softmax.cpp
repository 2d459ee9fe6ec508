// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax: along one axis, or before opset 13 along all from `axis` on
// together.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

std::vector<int> axes_of(const Call& call) {
  const SoftmaxAttrs& attrs = call.attrs<SoftmaxAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  return range(axis, attrs.flattened ? call.rank(0) : axis + 1);
}

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  normal_axis(call, call.attrs<SoftmaxAttrs>().axis, call.rank(0));
  return {tensor_of(call.elem(0), call.shape(0))};
}

/// x - max, so that exp stays finite.
te::Tensor shifted(const te::Tensor& x, const std::vector<int>& axes) {
  return x - reduce_dims(x, axes, te::max_over);
}

std::vector<te::Tensor> softmax(const Call& call) {
  const ir::Elem elem = call.elem(0);
  const std::vector<int> axes = axes_of(call);
  const te::Tensor e = te::exp(shifted(as(wide(elem), call.in(0)), axes));
  // One division for each sum: it takes as long as many products.
  const te::Tensor share = te::map(reduce_dims(e, axes, te::sum),
                                   [&](const Expr& s) { return te::cast(e.elem(), 1) / s; });
  return {as(elem, e * share)};
}

std::vector<te::Tensor> log_softmax(const Call& call) {
  const ir::Elem elem = call.elem(0);
  const std::vector<int> axes = axes_of(call);
  const te::Tensor x = shifted(as(wide(elem), call.in(0)), axes);
  const te::Tensor sum = reduce_dims(x, axes, te::sum, [](const Expr& v) { return te::exp(v); });
  return {as(elem, x - te::log(sum))};
}

/// 1 at the first maximum, else 0.
std::vector<te::Tensor> hardmax(const Call& call) {
  const te::Tensor& x = call.in(0);
  const std::vector<int> axes = axes_of(call);
  const auto place = [&](const At& at) {  // among the axes
    Expr i = 0;
    for (const int d : axes) i = i * x.shape()[static_cast<size_t>(d)] + at[static_cast<size_t>(d)];
    return i;
  };
  te::Shape kept = shape_of(x);
  std::vector<te::Axis> over;
  for (const int d : axes) {
    over.push_back(te::reduce_axis(x.shape()[static_cast<size_t>(d)]));
    kept[static_cast<size_t>(d)] = 1;
  }
  const te::Tensor best = te::compute("best", kept, [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    for (size_t k = 0; k < axes.size(); ++k) at[static_cast<size_t>(axes[k])] = over[k];
    return te::reduce(te::argmax_reducer(x.elem()), {place(at), x.at(at)}, te::Axes(over));
  })[0];
  return {te::compute("hardmax", shape_of(x), [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    const Expr here = place(at);
    for (const int d : axes) at[static_cast<size_t>(d)] = 0;
    return te::cast(x.elem(), best.at(at) == here);
  })};
}

struct Row {
  std::string_view name, onnx;
  std::vector<te::Tensor> (*define)(const Call&);
};
constexpr std::array<Row, 3> kRows = {{
    {"softmax", "Softmax", softmax},
    {"log_softmax", "LogSoftmax", log_softmax},
    {"hardmax", "Hardmax", hardmax},
}};

void call_row(const OnnxNode& n, Builder& g, const SoftmaxAttrs& attrs) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].onnx == n.op) g.output(n, g.call(softmax_ops()[i], attrs, {n.need(0)}));
}

void from_onnx(const OnnxNode& n, Builder& g) { call_row(n, g, {.axis = n.attr_int("axis", -1)}); }

/// With one dimension from the axis on, flattening changes nothing.
void flattened_from_onnx(const OnnxNode& n, Builder& g) {
  const int64_t axis = n.attr_int("axis", 1);
  const int rank = g.tensor(n.need(0)).rank();
  call_row(n, g, {.axis = axis, .flattened = axis != -1 && axis != rank - 1});
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows)
    out.push_back(define_op<SoftmaxAttrs>(
        {.name = row.name,
         .fusion = FusionKind::Reduction,
         .infer = infer,
         .algorithms = {{.name = "stable", .define = row.define}},
         .onnx = {{.op = row.onnx, .from = 13, .rule = from_onnx},
                  {.op = row.onnx, .from = 1, .rule = flattened_from_onnx, .to = 12}}}));
  return out;
}

}  // namespace

std::span<const OpDef> softmax_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

const OpDef& softmax_op() { return softmax_ops()[0]; }

}  // namespace tilewright::ops
