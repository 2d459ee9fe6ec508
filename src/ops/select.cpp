// SPDX-License-Identifier: Apache-2.0
// Operators of elements of several tensors that are no functions of a pair: where, clip, prelu.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/old_broadcast.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;
using Point = std::vector<te::Var>;

std::vector<Type> infer_where(const Call& call) {
  need(call, 0, Kind::Bool, "ops.where.type");
  need(call, 1, Kind::Any, "ops.where.type");
  need_same_elem(call, 1, 2);
  const Shape sides = broadcast_at_run(call, call.shape(1), call.shape(2));
  return {TensorType{.elem = call.elem(1), .shape = broadcast_at_run(call, call.shape(0), sides)}};
}

std::vector<Elements> elements_where(const Call& call) {
  return {map_elements(call, call.elem(1), [](const std::vector<Dim>& x) {
    return choose(ir::ne(x[0], Dim(0)), x[1], x[2]);
  })};
}

std::vector<te::Tensor> define_where(const Call& call) {
  return {te::compute(call.out_shape(), [&](const Point& at) {
    return te::select(broadcast_read(call, 0, indices_of(at)),
                      broadcast_read(call, 1, indices_of(at)),
                      broadcast_read(call, 2, indices_of(at)));
  })};
}

void where_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("where"), NoAttrs{}, {n.need(0), n.need(1), n.need(2)}));
}

/// The limits are tensors of one element each, and may be missing.
std::vector<Type> infer_clip(const Call& call) {
  need(call, 0, Kind::Number, "ops.clip.type");
  for (const size_t i : {1, 2})
    if (call.has(i)) {
      need_same_elem(call, 0, i);
      call.check(ir::eq(graph::elements(call.shape(i)), Dim(1)), "a limit of Clip has one element");
    }
  return {call.type(0)};
}

std::vector<te::Tensor> define_clip(const Call& call) {
  const auto limit = [&](size_t i) {
    return call.in(i).at(std::vector<Expr>(call.shape(i).size(), 0));
  };
  return {te::map(call.in(0), [&](const Expr& x) {
    Expr out = x;
    if (call.has(1)) out = te::max(out, limit(1));
    if (call.has(2)) out = te::min(out, limit(2));
    return out;
  })};
}

void clip_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("clip"), NoAttrs{}, {n.need(0), n.in(1), n.in(2)}));
}

void clip_with_attributes(const OnnxNode& n, Builder& g) {
  const ir::Elem elem = g.tensor(n.need(0)).elem;
  const auto limit = [&](std::string_view name) {
    return n.has_attr(name) ? g.scalar(elem, n.attr_float(name, 0)) : kNoValue;
  };
  g.output(n, g.call(op("clip"), NoAttrs{}, {n.need(0), limit("min"), limit("max")}));
}

/// ONNX broadcasts the slope to the shape of x; ONNX Runtime, and so this, x to the slope's as
/// well.
std::vector<Type> infer_prelu(const Call& call) {
  need(call, 0, Kind::Number, "ops.prelu.type");
  need_same_elem(call, 0, 1);
  return {TensorType{.elem = call.elem(0),
                     .shape = broadcast_at_run(call, call.shape(0), call.shape(1))}};
}

std::vector<te::Tensor> define_prelu(const Call& call) {
  return {te::compute(call.out_shape(), [&](const Point& at) {
    const Expr x = broadcast_read(call, 0, indices_of(at));
    return te::select(x < 0, x * broadcast_read(call, 1, indices_of(at)), x);
  })};
}

void prelu_from_onnx(const OnnxNode& n, Builder& g) {
  ValueId slope = n.need(1);
  if (n.opset < 7 && g.tensor(slope).rank() == 1)  // one for each channel
    slope = with_ones(g, slope, static_cast<size_t>(std::max(g.tensor(n.need(0)).rank() - 2, 0)));
  g.output(n, g.call(op("prelu"), NoAttrs{}, {n.need(0), slope}));
}

}  // namespace

std::span<const OpDef> select_ops() {
  static const OpDef defs[] = {
      define_op({.name = "clip",
                 .fusion = FusionKind::Injective,
                 .infer = infer_clip,
                 .algorithms = {{.name = "direct", .define = define_clip}},
                 .onnx = {{.op = "Clip", .from = 11, .rule = clip_from_onnx},
                          {.op = "Clip", .rule = clip_with_attributes, .to = 10}}}),
      define_op({.name = "prelu",
                 .fusion = FusionKind::Injective,
                 .infer = infer_prelu,
                 .algorithms = {{.name = "direct", .define = define_prelu}},
                 .onnx = {{.op = "PRelu", .rule = prelu_from_onnx}}}),
      define_op({.name = "where",
                 .fusion = FusionKind::Injective,
                 .infer = infer_where,
                 .elements = elements_where,
                 .algorithms = {{.name = "direct", .define = define_where}},
                 .onnx = {{.op = "Where", .rule = where_from_onnx}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
