// SPDX-License-Identifier: Apache-2.0
// A part of a tensor: (data, starts, ends[, axes[, steps]]), all of which a run may tell.
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

/// What is taken of one dimension: start, start + step, … of `extent` elements.
struct Part {
  Dim start, step, extent;
};

Dim clamp(const Dim& x, const Dim& least, const Dim& most) {
  return ir::min(ir::max(x, least), most);
}

/// The elements of input i. Where only the run tells how many it has, they are as many as the other
/// lists have; one when it cannot be more: a start that is a slice of i … i + 1 itself.
std::vector<Dim> list(const Call& call, size_t i) {
  if (call.rank(i) != 1 || ir::const_int(call.shape(i)[0])) return call.elements(i);
  std::optional<int64_t> count;
  for (size_t other = 1; other < call.inputs() && !count; ++other)
    if (call.has(other) && call.rank(other) == 1) count = ir::const_int(call.shape(other)[0]);
  if (!count && call.proves(call.shape(i)[0] <= Dim(1))) count = 1;
  if (!count) return call.elements(i);
  call.check(ir::eq(call.shape(i)[0], Dim(*count)), str("input ", i, " of Slice must have ", *count,
                                                        *count == 1 ? " element" : " elements"));
  std::vector<Dim> out;
  for (int64_t k = 0; k < *count; ++k) out.push_back(call.element(i, k));
  return out;
}

std::vector<Part> parts_of(const Call& call) {
  const std::vector<Dim> starts = list(call, 1), ends = list(call, 2);
  std::vector<Dim> axes, steps(starts.size(), Dim(1));
  for (size_t j = 0; j < starts.size(); ++j) axes.push_back(static_cast<int64_t>(j));
  if (call.has(3)) axes = normal_axes(call, list(call, 3), call.rank(0));
  if (call.has(4)) steps = list(call, 4);
  if (starts.size() != ends.size() || starts.size() != axes.size() ||
      starts.size() != steps.size() || static_cast<int>(starts.size()) > call.rank(0))
    call.refuse("ops.slice.count",
                str(starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ",
                    steps.size(), " steps for a tensor of rank ", call.rank(0)),
                "give each of the sliced axes one of them");
  for (const Dim& step : steps) call.check(ir::ne(step, Dim(0)), "a step of Slice is 0");

  std::vector<Part> out;
  for (int64_t d = 0; d < call.rank(0); ++d) {
    const Dim& n = call.shape(0)[static_cast<size_t>(d)];
    const Dim step = call.simple(at_axis(axes, steps, d, Dim(1)));
    const Dim start = call.simple(wrapped(at_axis(axes, starts, d, Dim(0)), n));
    const Dim end = call.simple(wrapped(at_axis(axes, ends, d, n), n));
    const ir::Expr forward = step > Dim(0);
    // Both are made only where the run tells the direction.
    const auto by_direction = [&](auto&& ahead, auto&& back) -> Dim {
      if (ir::is_true(forward)) return ahead();
      if (ir::is_false(forward)) return back();
      return ir::select(forward, ahead(), back());
    };
    // Backwards, the least end is the place before the first element.
    const auto within = [&](const Dim& place, int64_t least_back) {
      return call.simple(by_direction([&] { return clamp(place, Dim(0), n); },
                                      [&] { return clamp(place, Dim(least_back), n - Dim(1)); }));
    };
    const Dim from = within(start, 0), to = within(end, -1);
    const Dim count = by_direction([&] { return ir::ceil_div(to - from, step); },
                                   [&] { return ir::ceil_div(from - to, -step); });
    out.push_back({from, step, call.extent(ir::max(count, Dim(0)))});
  }
  return out;
}

std::vector<Type> infer(const Call& call) {
  need(call, 0, Kind::Any, "ops.slice.type");
  Shape shape;
  for (const Part& part : parts_of(call)) shape.push_back(part.extent);
  return {tensor_of(call.elem(0), std::move(shape))};
}

std::vector<Elements> elements(const Call& call) {
  const Elements known = list_of(call, 0);
  if (!known || call.rank(0) != 1) return {std::nullopt};
  const Part part = parts_of(call)[0];
  const std::optional<int64_t> start = ir::const_int(part.start), step = ir::const_int(part.step),
                               count = ir::const_int(part.extent);
  if (!start || !step || !count) return {std::nullopt};
  std::vector<Dim> out;
  for (int64_t i = 0; i < *count; ++i)
    out.push_back((*known)[static_cast<size_t>(*start + i * *step)]);
  return {out};
}

std::vector<te::Tensor> define(const Call& call) {
  const std::vector<Part> parts = parts_of(call);
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& at) {
    At indices;
    for (size_t d = 0; d < parts.size(); ++d)
      indices.push_back(Expr(parts[d].start) + at[d] * Expr(parts[d].step));
    return call.in(0).at(indices);
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(slice_op(), NoAttrs{}, {n.need(0), n.need(1), n.need(2), n.in(3), n.in(4)}));
}
void with_attributes(const OnnxNode& n, Builder& g) {
  const ValueId axes = n.has_attr("axes") ? g.ints(n.attr_ints("axes")) : kNoValue;
  g.output(n,
           g.call(slice_op(), NoAttrs{},
                  {n.need(0), g.ints(n.attr_ints("starts")), g.ints(n.attr_ints("ends")), axes}));
}

}  // namespace

const OpDef& slice_op() {
  static const OpDef def = define_op({.name = "slice",
                                      .fusion = FusionKind::Injective,
                                      .infer = infer,
                                      .elements = elements,
                                      .algorithms = {{.name = "direct", .define = define}},
                                      .onnx = {{.op = "Slice", .from = 10, .rule = from_onnx},
                                               {.op = "Slice", .rule = with_attributes, .to = 9}}});
  return def;
}

}  // namespace tilewright::ops
