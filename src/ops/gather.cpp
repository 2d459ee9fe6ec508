// SPDX-License-Identifier: Apache-2.0
// Reading elements at indices that another tensor holds. They count from the end when negative. One
// out of range is an error of the run (check_indices); without that check it reads the nearest
// element.
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

Expr place(const Expr& index, const Dim& extent) {
  const Expr i = as(ir::Elem::I64, index), n = Expr(extent);
  return te::max(te::min(te::select(i < 0, i + n, i), n - 1), 0);
}

/// Nothing can be read of a dimension without elements.
void need_elements(const Call& call, const Dim& extent, const Shape& result) {
  call.check(ir::logical_or(extent > Dim(0), ir::eq(graph::elements(result), Dim(0))),
             "elements are gathered from a dimension of extent 0");
}

void need_inputs(const Call& call) {
  need(call, 0, Kind::Any, "ops.gather.type");
  need_int(call, 1);
}

// gather: data[…, indices[…], …] along an axis

std::vector<Type> infer_gather(const Call& call) {
  need_inputs(call);
  need_min_rank(call, 0, 1);
  const int axis = normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0));
  const Shape &data = call.shape(0), &indices = call.shape(1);
  Shape out(data.begin(), data.begin() + axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + axis + 1, data.end());
  need_elements(call, data[static_cast<size_t>(axis)], out);
  return {tensor_of(call.elem(0), std::move(out))};
}

std::vector<Elements> elements_gather(const Call& call) {
  const Elements data = list_of(call, 0), indices = list_of(call, 1);
  if (!data || !indices || data->empty()) return {std::nullopt};
  const Dim count = static_cast<int64_t>(data->size());
  std::vector<Dim> out;
  for (const Dim& i : *indices) {
    const std::optional<int64_t> c = ir::const_int(wrapped(i, count));
    if (c && (*c < 0 || *c >= static_cast<int64_t>(data->size())))
      call.refuse("ops.gather.index",
                  str("index ", *ir::const_int(i), " of a tensor of ", data->size(), " elements"),
                  "use an index in range");
    out.push_back(c ? (*data)[static_cast<size_t>(*c)] : pick(*data, wrapped(i, count)));
  }
  return {out};
}

std::vector<Dim> extent_of_axis(const Call& call) {
  const int axis = normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0));
  return {call.shape(0)[static_cast<size_t>(axis)]};
}

std::vector<te::Tensor> define_gather(const Call& call) {
  const auto axis =
      static_cast<size_t>(normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0)));
  const auto width = static_cast<int64_t>(call.shape(1).size());
  return {te::compute(call.out_shape(), [&](const Point& at) {
    const auto split = at.begin() + static_cast<int64_t>(axis);
    At indices(at.begin(), split);
    indices.push_back(place(call.in(1).at({split, split + width}), call.shape(0)[axis]));
    indices.insert(indices.end(), split + width, at.end());
    return call.in(0).at(indices);
  })};
}

void gather_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("gather"), AxisAttrs{n.attr_int("axis", 0)}, {n.need(0), n.need(1)}));
}

// gather_elements: data[i, indices[i, j, k], k] at every place of the indices

std::vector<Type> infer_gather_elements(const Call& call) {
  need_inputs(call);
  need_min_rank(call, 0, 1);
  need_rank(call, 1, call.rank(0));
  const int axis = normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0));
  for (int d = 0; d < call.rank(0); ++d) {
    const auto at = static_cast<size_t>(d);
    if (d != axis)
      call.check(call.shape(1)[at] <= call.shape(0)[at],
                 str("dimension ", d, " of the indices is greater than that of the data"));
  }
  need_elements(call, call.shape(0)[static_cast<size_t>(axis)], call.shape(1));
  return {tensor_of(call.elem(0), call.shape(1))};
}

std::vector<te::Tensor> define_gather_elements(const Call& call) {
  const auto axis =
      static_cast<size_t>(normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0)));
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices = indices_of(at);
    indices[axis] = place(call.in(1).at(indices), call.shape(0)[axis]);
    return call.in(0).at(indices);
  })};
}

void gather_elements_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n,
           g.call(op("gather_elements"), AxisAttrs{n.attr_int("axis", 0)}, {n.need(0), n.need(1)}));
}

// gather_nd: the last dimension of the indices holds places in the data, behind `batch_dims`
// dimensions that both have in common

int64_t place_length(const Call& call) {
  need_inputs(call);
  need_min_rank(call, 0, 1);
  need_min_rank(call, 1, 1);
  const int64_t batch = call.attrs<GatherNdAttrs>().batch_dims;
  const std::optional<int64_t> length = ir::const_int(call.shape(1).back());
  if (!length)
    call.refuse("ops.gather_nd.length", "the last dimension of the indices is not constant",
                "give it a constant extent: it decides the rank of the result");
  if (batch < 0 || batch >= call.rank(1) || *length < 1 || batch + *length > call.rank(0))
    call.refuse("ops.gather_nd.length",
                str("places of ", *length, " indices behind ", batch, " batch dimensions"),
                "together they must not be more than the dimensions of the data");
  return *length;
}

std::vector<Type> infer_gather_nd(const Call& call) {
  const int64_t length = place_length(call), batch = call.attrs<GatherNdAttrs>().batch_dims;
  const Shape &data = call.shape(0), &indices = call.shape(1);
  Shape out(indices.begin(), indices.end() - 1);
  for (size_t d = 0; d < static_cast<size_t>(batch); ++d)
    out[d] = call.equal(data[d], indices[d], str("batch dimension ", d));
  out.insert(out.end(), data.begin() + batch + length, data.end());
  for (int64_t k = 0; k < length; ++k)
    need_elements(call, data[static_cast<size_t>(batch + k)], out);
  return {tensor_of(call.elem(0), std::move(out))};
}

std::vector<Dim> extents_of_place(const Call& call) {
  const int64_t length = place_length(call), batch = call.attrs<GatherNdAttrs>().batch_dims;
  const auto first = call.shape(0).begin() + batch;
  return {first, first + length};
}

std::vector<te::Tensor> define_gather_nd(const Call& call) {
  const int64_t length = place_length(call), batch = call.attrs<GatherNdAttrs>().batch_dims;
  const auto width = static_cast<int64_t>(call.shape(1).size()) - 1;
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices(at.begin(), at.begin() + batch);
    for (int64_t k = 0; k < length; ++k) {
      At from(at.begin(), at.begin() + width);
      from.push_back(k);
      indices.push_back(place(call.in(1).at(from), call.shape(0)[static_cast<size_t>(batch + k)]));
    }
    indices.insert(indices.end(), at.begin() + width, at.end());
    return call.in(0).at(indices);
  })};
}

void gather_nd_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("gather_nd"), GatherNdAttrs{n.attr_int("batch_dims", 0)},
                     {n.need(0), n.need(1)}));
}

/// The places where the condition holds are the indices. It may be shorter than the dimension, and
/// what it says past its end is not heard.
void compress_from_onnx(const OnnxNode& n, Builder& g) {
  ValueId data = n.need(0), condition = n.need(1);
  if (!n.has_attr("axis")) data = g.call(op("reshape"), ReshapeAttrs{}, {data, g.ints({-1})});
  const Shape shape = g.tensor(data).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = n.attr_int("axis", 0), normal = axis < 0 ? axis + rank : axis;
  if (normal >= 0 && normal < rank)  // otherwise `gather` refuses
    condition = g.call(slice_op(), NoAttrs{},
                       {condition, g.ints({0}), g.formulas({shape[static_cast<size_t>(normal)]})});
  const ValueId count = g.call(op("nonzero_count"), NoAttrs{}, {condition});
  const ValueId places = g.call(op("nonzero"), NoAttrs{}, {condition, count});  // [1, count]
  const ValueId list = g.call(op("squeeze"), NoAttrs{}, {places, g.ints({0})});
  g.output(n, g.call(op("gather"), AxisAttrs{axis}, {data, list}));
}

}  // namespace

std::span<const OpDef> gather_ops() {
  static const OpDef defs[] = {
      define_op<AxisAttrs>({.name = "gather",
                            .fusion = FusionKind::Injective,
                            .infer = infer_gather,
                            .elements = elements_gather,
                            .indexed = extent_of_axis,
                            .algorithms = {{.name = "direct", .define = define_gather}},
                            .onnx = {{.op = "Gather", .rule = gather_from_onnx},
                                     {.op = "Compress", .rule = compress_from_onnx}}}),
      define_op<AxisAttrs>({.name = "gather_elements",
                            .fusion = FusionKind::Injective,
                            .infer = infer_gather_elements,
                            .indexed = extent_of_axis,
                            .algorithms = {{.name = "direct", .define = define_gather_elements}},
                            .onnx = {{.op = "GatherElements", .rule = gather_elements_from_onnx}}}),
      define_op<GatherNdAttrs>({.name = "gather_nd",
                                .fusion = FusionKind::Injective,
                                .infer = infer_gather_nd,
                                .indexed = extents_of_place,
                                .algorithms = {{.name = "direct", .define = define_gather_nd}},
                                .onnx = {{.op = "GatherND", .rule = gather_nd_from_onnx}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
