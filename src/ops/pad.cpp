// SPDX-License-Identifier: Apache-2.0
// Growing or shrinking dimensions at both ends: pad and center_crop_pad.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;
using Point = std::vector<te::Var>;

/// Elements put before and after those of each dimension; negative ones are taken away.
struct Padding {
  std::vector<Dim> before, after;
};

// pad: (data, pads[, value[, axes]])

Padding padding_of(const Call& call) {
  const std::vector<Dim> pads = call.elements(1);
  const auto rank = static_cast<size_t>(call.rank(0));
  std::vector<Dim> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (call.has(3)) axes = axes_of(call, 3, call.rank(0));
  if (pads.size() != 2 * axes.size())
    call.refuse("ops.pad.count", str(pads.size(), " pads for ", axes.size(), " axes"),
                "give two for each axis: all those before, then all those after");
  const auto half = pads.begin() + static_cast<int64_t>(axes.size());
  const std::vector<Dim> before(pads.begin(), half), after(half, pads.end());
  Padding out;
  for (size_t d = 0; d < rank; ++d) {
    const auto axis = static_cast<int64_t>(d);
    out.before.push_back(call.simple(at_axis(axes, before, axis, Dim(0))));
    out.after.push_back(call.simple(at_axis(axes, after, axis, Dim(0))));
  }
  return out;
}

std::vector<Type> infer_pad(const Call& call) {
  need(call, 0, Kind::Any, "ops.pad.type");
  if (call.has(2)) {
    need_same_elem(call, 0, 2);
    call.check(ir::eq(graph::elements(call.shape(2)), Dim(1)),
               "the value that Pad puts in is one element");
  }
  const Padding pads = padding_of(call);
  const bool repeats = call.attrs<PadAttrs>().mode != PadMode::Constant;
  Shape shape;
  for (size_t d = 0; d < pads.before.size(); ++d) {
    const Dim& n = call.shape(0)[d];
    shape.push_back(call.extent(n + pads.before[d] + pads.after[d]));
    if (repeats)
      call.check(ir::logical_or(n > Dim(0), ir::eq(shape.back(), Dim(0))),
                 str("dimension ", d, " has no elements to fill the padding with"));
  }
  return {tensor_of(call.elem(0), std::move(shape))};
}

/// The element of dimension d that place i, which may lie before 0 or behind the end, repeats.
/// Schedules cut loops where the choice changes.
Expr repeated(const Call& call, const Padding& pads, size_t d, const Expr& i) {
  const PadMode mode = call.attrs<PadAttrs>().mode;
  const Dim& extent = call.shape(0)[d];
  const Expr n = Expr(extent);
  const auto around = [&](const Expr& low, const Expr& high) {
    return te::select(i < 0, low, te::select(i < n, i, high));
  };
  if (mode == PadMode::Edge) return around(0, n - 1);
  const bool wraps = mode == PadMode::Wrap;
  const Dim most = wraps ? extent : extent - Dim(1);
  const bool once = call.proves(pads.before[d] <= most) && call.proves(pads.after[d] <= most);
  if (once) return wraps ? around(i + n, i - n) : around(-i, 2 * (n - 1) - i);
  if (wraps) return around(i % n, i % n);
  const Expr period = 2 * (n - 1);  // 0 for one element: % 0 is 0
  const Expr phase = i % period;
  const Expr there = te::select(phase < n, phase, period - phase);
  return around(there, there);
}

std::vector<te::Tensor> define_pad(const Call& call) {
  const PadMode mode = call.attrs<PadAttrs>().mode;
  const Padding pads = padding_of(call);
  const Shape& shape = call.shape(0);
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices;
    std::optional<Expr> inside;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Expr i = at[d] - Expr(pads.before[d]), n = Expr(shape[d]);
      const bool grows =
          !call.proves(pads.before[d] <= Dim(0)) || !call.proves(pads.after[d] <= Dim(0));
      indices.push_back(grows && mode != PadMode::Constant ? repeated(call, pads, d, i) : i);
      if (!grows || mode != PadMode::Constant) continue;
      const Expr in_dim = 0 <= i && i < n;
      inside = inside ? *inside && in_dim : in_dim;
    }
    const Expr value = call.in(0).at(indices);
    if (!inside) return value;
    const Expr fill = call.has(2)                      ? call.in(2).at(At(call.shape(2).size(), 0))
                      : call.elem(0) == ir::Elem::Bool ? Expr(false)
                                                       : te::cast(call.elem(0), 0);
    return te::guard(*inside, value, fill);
  })};
}

PadAttrs pad_attrs(const OnnxNode& n) {
  const std::string mode = n.attr_string("mode", "constant");
  if (mode == "constant") return {PadMode::Constant};
  if (mode == "reflect") return {PadMode::Reflect};
  if (mode == "edge") return {PadMode::Edge};
  if (mode == "wrap") return {PadMode::Wrap};
  n.refuse("ops.pad.mode", str("there is no mode `", mode, "`"),
           "use `constant`, `reflect`, `edge` or `wrap`");
}

void pad_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("pad"), pad_attrs(n), {n.need(0), n.need(1), n.in(2), n.in(3)}));
}
void pad_with_attributes(const OnnxNode& n, Builder& g) {
  const ValueId value = g.scalar(g.tensor(n.need(0)).elem, n.attr_float("value", 0));
  g.output(n, g.call(op("pad"), pad_attrs(n), {n.need(0), g.ints(n.attr_ints("pads")), value}));
}

// center_crop_pad: (data, shape); the middle of the result is the middle of the data

Shape target_of(const Call& call) {
  std::vector<int64_t> axes = call.attrs<AxesAttrs>().axes;
  const std::vector<Dim> extents = call.elements(1);
  if (axes.empty())
    for (int64_t d = 0; d < call.rank(0); ++d) axes.push_back(d);
  if (extents.size() != axes.size())
    call.refuse("ops.center_crop_pad.count",
                str(extents.size(), " extents for ", axes.size(), " axes"),
                "give one extent for each axis");
  Shape out = call.shape(0);
  for (size_t j = 0; j < axes.size(); ++j)
    out[static_cast<size_t>(normal_axis(call, axes[j], call.rank(0)))] = call.extent(extents[j]);
  return out;
}

std::vector<Type> infer_center(const Call& call) {
  need(call, 0, Kind::Any, "ops.center_crop_pad.type");
  return {tensor_of(call.elem(0), target_of(call))};
}

std::vector<te::Tensor> define_center(const Call& call) {
  const Shape &from = call.shape(0), to = target_of(call);
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices;
    Expr inside = true;
    for (size_t d = 0; d < from.size(); ++d) {
      const Dim shift =
          choose(to[d] <= from[d], (from[d] - to[d]) / Dim(2), -((to[d] - from[d]) / Dim(2)));
      indices.push_back(at[d] + Expr(call.simple(shift)));
      if (!call.proves(to[d] <= from[d]))
        inside = inside && 0 <= indices[d] && indices[d] < Expr(from[d]);
    }
    const ir::Elem elem = call.elem(0);
    return te::guard(inside, call.in(0).at(indices),
                     elem == ir::Elem::Bool ? Expr(false) : te::cast(elem, 0));
  })};
}

void center_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n,
           g.call(op("center_crop_pad"), AxesAttrs{n.attr_ints("axes")}, {n.need(0), n.need(1)}));
}

}  // namespace

std::span<const OpDef> pad_ops() {
  static const OpDef defs[] = {
      define_op<AxesAttrs>({.name = "center_crop_pad",
                            .fusion = FusionKind::Injective,
                            .infer = infer_center,
                            .algorithms = {{.name = "direct", .define = define_center}},
                            .onnx = {{.op = "CenterCropPad", .rule = center_from_onnx}}}),
      define_op<PadAttrs>(
          {.name = "pad",
           .fusion = FusionKind::Injective,
           .infer = infer_pad,
           .algorithms = {{.name = "direct", .define = define_pad}},
           .onnx = {{.op = "Pad", .from = 11, .rule = pad_from_onnx},
                    {.op = "Pad", .from = 2, .rule = pad_with_attributes, .to = 10}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
