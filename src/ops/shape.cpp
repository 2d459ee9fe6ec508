// SPDX-License-Identifier: Apache-2.0
// Operators that tell the shape of a tensor, and those that make one of a given shape.
#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

// shape: the extents of dimensions start … end - 1, which count from the end when negative.

Shape chosen(const Call& call) {
  const auto& [start, end] = call.attrs<ShapeAttrs>();
  const Shape& shape = call.shape(0);
  const int64_t rank = call.rank(0);
  const auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t from = place(start), to = std::max(place(end), from);
  return Shape(shape.begin() + from, shape.begin() + to);
}

std::vector<Type> infer_shape(const Call& call) {
  return {tensor_of(ir::Elem::I64, {Dim(static_cast<int64_t>(chosen(call).size()))})};
}

std::vector<Elements> elements_shape(const Call& call) { return {chosen(call)}; }

std::vector<te::Tensor> define_shape(const Call& call) {
  const Shape shape = chosen(call);
  return {te::compute(call.out_shape(), [&](const te::Var& i) {
    Expr out = te::cast(ir::Elem::I64, 0);
    for (size_t d = shape.size(); d-- > 0;)
      out = te::select(i == static_cast<int64_t>(d), Expr(shape[d]), out);
    return out;
  })};
}

void shape_from_onnx(const OnnxNode& n, Builder& g) {
  const ShapeAttrs attrs{n.attr_int("start", 0), n.attr_int("end", ShapeAttrs{}.end)};
  g.output(n, g.call(op("shape"), attrs, {n.need(0)}));
}

// size: the number of elements.

std::vector<Type> infer_size(const Call& call) {
  call.tensor(0);
  return {tensor_of(ir::Elem::I64, {})};
}

std::vector<Elements> elements_size(const Call& call) {
  return {std::vector<Dim>{graph::elements(call.shape(0))}};
}

std::vector<te::Tensor> define_size(const Call& call) {
  return {te::compute(te::Shape{}, [&] { return Expr(graph::elements(call.shape(0))); })};
}

void size_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("size"), NoAttrs{}, {n.need(0)}));
}

// full: the value of input 1 in the shape of input 0.

std::vector<Type> infer_full(const Call& call) {
  need(call, 1, Kind::Any, "ops.full.type");
  Shape shape;
  for (const Dim& d : call.elements(0)) shape.push_back(call.extent(d));
  return {tensor_of(call.elem(1), std::move(shape))};
}

std::vector<Elements> elements_full(const Call& call) {
  const Elements shape = list_of(call, 0), value = list_of(call, 1);
  if (!shape || shape->size() > 1 || !value || value->size() != 1) return {std::nullopt};
  const std::optional<int64_t> count = shape->empty() ? 1 : ir::const_int((*shape)[0]);
  if (!count || *count < 0 || *count > kMaxElements) return {std::nullopt};
  return {std::vector<Dim>(static_cast<size_t>(*count), (*value)[0])};
}

std::vector<te::Tensor> define_full(const Call& call) {
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>&) {
    return call.in(1).at(std::vector<Expr>(call.shape(1).size(), 0));
  })};
}

void constant_of_shape(const OnnxNode& n, Builder& g) {
  const Constant value = n.attr_tensor("value");
  if (value && value->count() != 1)
    n.refuse("ops.full.value", str("the attribute `value` has ", value->count(), " elements"),
             "give a tensor of one element");
  const ValueId fill = value ? g.constant(value) : g.scalar(ir::Elem::F32, 0);
  g.output(n, g.call(op("full"), NoAttrs{}, {n.need(0), fill}));
}

// eye_like: ones on a diagonal of a matrix.

std::vector<Type> infer_eye_like(const Call& call) {
  if (call.rank(0) != 2)
    call.refuse("ops.eye_like.rank", str("the input has rank ", call.rank(0)), "give a matrix");
  return {tensor_of(call.attrs<EyeLikeAttrs>().elem, call.shape(0))};
}

std::vector<te::Tensor> define_eye_like(const Call& call) {
  const auto& [elem, k] = call.attrs<EyeLikeAttrs>();
  return {te::compute(call.out_shape(), [&](const te::Var& i, const te::Var& j) {
    return te::cast(elem, j - i == k);
  })};
}

void eye_like_from_onnx(const OnnxNode& n, Builder& g) {
  const ir::Elem elem = n.attr_elem("dtype").value_or(g.tensor(n.need(0)).elem);
  g.output(n, g.call(op("eye_like"), EyeLikeAttrs{elem, n.attr_int("k", 0)}, {n.need(0)}));
}

// Constants become values of the graph, not calls.

void constant_from_onnx(const OnnxNode& n, Builder& g) {
  const auto vector = [](auto values) { return static_cast<int64_t>(values.size()); };
  Constant content;
  if (n.has_attr("value")) {
    content = n.attr_tensor("value");
  } else if (n.has_attr("sparse_value")) {
    content = n.attr_tensor("sparse_value");
  } else if (n.has_attr("value_float")) {
    content = float_constant(ir::Elem::F32, {}, {n.attr_float("value_float", 0)});
  } else if (n.has_attr("value_floats")) {
    const std::vector<float> values = n.attr_floats("value_floats");
    content = float_constant(ir::Elem::F32, {vector(values)}, {values.begin(), values.end()});
  } else if (n.has_attr("value_int")) {
    content = int_constant(ir::Elem::I64, {}, {n.attr_int("value_int")});
  } else if (n.has_attr("value_ints")) {
    const std::vector<int64_t> values = n.attr_ints("value_ints");
    content = int_constant(ir::Elem::I64, {vector(values)}, values);
  } else if (n.has_attr("value_string")) {
    content = string_constant({}, {n.attr_string("value_string", "")});
  } else if (n.has_attr("value_strings")) {
    const std::vector<std::string> values = n.attr_strings("value_strings");
    content = string_constant({vector(values)}, values);
  }
  if (!content)
    n.refuse("ops.constant.value", "a Constant without a value", "set its attribute `value`");
  g.output(n, g.constant(content, n.wants(0) ? n.outputs[0] : ""));
}

}  // namespace

std::span<const OpDef> shape_ops() {
  static const OpDef defs[] = {
      define_op<EyeLikeAttrs>({.name = "eye_like",
                               .fusion = FusionKind::Injective,
                               .infer = infer_eye_like,
                               .algorithms = {{.name = "direct", .define = define_eye_like}},
                               .onnx = {{.op = "EyeLike", .rule = eye_like_from_onnx}}}),
      define_op({.name = "full",
                 .fusion = FusionKind::Injective,
                 .infer = infer_full,
                 .elements = elements_full,
                 .algorithms = {{.name = "direct", .define = define_full}},
                 .onnx = {{.op = "ConstantOfShape", .rule = constant_of_shape},
                          {.op = "Constant", .rule = constant_from_onnx}}}),
      define_op<ShapeAttrs>({.name = "shape",
                             .fusion = FusionKind::Injective,
                             .infer = infer_shape,
                             .elements = elements_shape,
                             .algorithms = {{.name = "direct", .define = define_shape}},
                             .onnx = {{.op = "Shape", .rule = shape_from_onnx}}}),
      define_op({.name = "size",
                 .fusion = FusionKind::Injective,
                 .infer = infer_size,
                 .elements = elements_size,
                 .algorithms = {{.name = "direct", .define = define_size}},
                 .onnx = {{.op = "Size", .rule = size_from_onnx}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
