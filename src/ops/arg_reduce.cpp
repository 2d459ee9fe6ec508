// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin: the place of the extreme along an axis, the first or the last of equal ones.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct ArgAttrs {
  int64_t axis = 0;
  bool keepdims = true, last = false;
  static constexpr auto fields =
      std::tuple{field("axis", &ArgAttrs::axis), field("keepdims", &ArgAttrs::keepdims),
                 field("last", &ArgAttrs::last)};
};

std::vector<Type> infer(const Call& call) {
  const ArgAttrs& attrs = call.attrs<ArgAttrs>();
  need_number(call, 0);
  need_min_rank(call, 0, 1);
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  Shape shape = call.shape(0);
  if (attrs.keepdims)
    shape[static_cast<size_t>(axis)] = Dim(1);
  else
    shape.erase(shape.begin() + axis);
  return {tensor_of(ir::Elem::I64, shape)};
}

/// The last of equal ones is the first when the axis is walked backwards.
template <te::Tuple (*Arg)(const Expr&, const te::Axis&)>
std::vector<te::Tensor> define(const Call& call) {
  const ArgAttrs& attrs = call.attrs<ArgAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const Dim extent = call.shape(0)[static_cast<size_t>(axis)];
  const te::Axis k = te::reduce_axis(extent, "k");
  const te::Tensor found =
      te::compute("arg", call.out_shape(), [&](const std::vector<te::Var>& point) {
        At at = indices_of(point);
        const Expr place = attrs.last ? extent - 1 - k : Expr(k);
        if (attrs.keepdims)
          at[static_cast<size_t>(axis)] = place;
        else
          at.insert(at.begin() + axis, place);
        return Arg(call.in(0).at(at), k);
      })[0];
  if (!attrs.last) return {found};
  return {te::map(found, [&](const Expr& i) { return extent - 1 - i; })};
}

struct Row {
  std::string_view name, onnx;
  std::vector<te::Tensor> (*define)(const Call&);
};
constexpr std::array<Row, 2> kRows = {{
    {"arg_max", "ArgMax", define<te::argmax>},
    {"arg_min", "ArgMin", define<te::argmin>},
}};

void from_onnx(const OnnxNode& n, Builder& g) {
  const ArgAttrs attrs{.axis = n.attr_int("axis", 0),
                       .keepdims = n.attr_int("keepdims", 1) != 0,
                       .last = n.attr_int("select_last_index", 0) != 0};
  g.output(n, g.call(op(n.op == "ArgMax" ? "arg_max" : "arg_min"), attrs, {n.need(0)}));
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows)
    out.push_back(define_op<ArgAttrs>({.name = row.name,
                                       .fusion = FusionKind::Reduction,
                                       .infer = infer,
                                       .algorithms = {{.name = "direct", .define = row.define}},
                                       .onnx = {{.op = row.onnx, .rule = from_onnx}}}));
  return out;
}

}  // namespace

std::span<const OpDef> arg_reduce_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
