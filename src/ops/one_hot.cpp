// SPDX-License-Identifier: Apache-2.0
// (indices, depth, [off, on]): `on` where the place on a new axis is the index.
#include "graph/onnx_node.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/kind.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

size_t axis_of(const Call& call) {
  return static_cast<size_t>(normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0) + 1));
}

std::vector<Type> infer(const Call& call) {
  need(call, 0, Kind::Int, "ops.one_hot.type");
  need(call, 2, Kind::Any, "ops.one_hot.type");
  call.check(ir::eq(graph::elements(call.shape(2)), Dim(2)),
             "the values of OneHot are two: off and on");
  Shape shape = call.shape(0);
  shape.insert(shape.begin() + static_cast<int64_t>(axis_of(call)),
               call.extent(call.element(1, 0)));
  return {tensor_of(call.elem(2), std::move(shape))};
}

std::vector<te::Tensor> define(const Call& call) {
  const size_t axis = axis_of(call);
  const Expr depth = Expr(call.out(0).shape[axis]);
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    At indices = indices_of(at);
    indices.erase(indices.begin() + static_cast<int64_t>(axis));
    const Expr index = as(ir::Elem::I64, call.in(0).at(indices));
    return te::select(at[axis] == te::select(index < 0, index + depth, index), call.in(2)(1),
                      call.in(2)(0));
  })};
}

/// ONNX lets indices and depth be floats.
ValueId as_ints(Builder& g, ValueId id) {
  return ir::is_int(g.tensor(id).elem) ? id : g.call(op("cast"), CastAttrs{ir::Elem::I64}, {id});
}

void from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(one_hot_op(), AxisAttrs{n.attr_int("axis", -1)},
                     {as_ints(g, n.need(0)), as_ints(g, n.need(1)), n.need(2)}));
}

}  // namespace

const OpDef& one_hot_op() {
  static const OpDef def =
      define_op<AxisAttrs>({.name = "one_hot",
                            .fusion = FusionKind::Injective,
                            .infer = infer,
                            .algorithms = {{.name = "direct", .define = define}},
                            .onnx = {{.op = "OneHot", .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
