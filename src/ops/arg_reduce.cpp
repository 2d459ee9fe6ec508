// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin: the place of the extreme along an axis, the first or the last of equal ones.
#include <algorithm>
#include <array>
#include <limits>

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
  const Dim extent = shape[static_cast<size_t>(axis)];
  if (attrs.keepdims)
    shape[static_cast<size_t>(axis)] = Dim(1);
  else
    shape.erase(shape.begin() + axis);
  call.check(ir::logical_or(extent > Dim(0), ir::eq(graph::elements(shape), Dim(0))),
             "an axis without elements has no greatest or least one");
  return {tensor_of(ir::Elem::I64, shape)};
}

/// The accessor's place of the result with `place` on the axis.
At place_of(const ArgAttrs& attrs, int axis, const std::vector<te::Var>& point, const Expr& place) {
  At at = indices_of(point);
  if (attrs.keepdims)
    at[static_cast<size_t>(axis)] = place;
  else
    at.insert(at.begin() + axis, place);
  return at;
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
        const Expr place = attrs.last ? extent - 1 - k : Expr(k);
        return Arg(call.in(0).at(place_of(attrs, axis, point, place)), k);
      })[0];
  if (!attrs.last) return {found};
  return {te::map(found, [&](const Expr& i) { return extent - 1 - i; })};
}

/// Is the axis the one along which elements lie side by side, and not very short?
bool runs_along(const Call& call) {
  constexpr int64_t kShort = 16;
  const int axis = normal_axis(call, call.attrs<ArgAttrs>().axis, call.rank(0));
  const Shape& shape = call.shape(0);
  const auto a = static_cast<size_t>(axis);
  return std::all_of(shape.begin() + axis + 1, shape.end(),
                     [](const Dim& d) { return ir::is_const(d, 1); }) &&
         ir::const_int(shape[a]).value_or(kShort) >= kShort;
}

/// Elements of a row that are searched for the place of its extreme, where rows are so long that
/// they do not stay in a cache until then.
constexpr int64_t kStretch = 1024, kLong = 64 * kStretch;

/// The extreme first, then the first place that has it: both are reductions by one operator, whose
/// terms lanes take. Of long rows the extremes of stretches are kept, so that one stretch alone is
/// read again.
///   M[i] = max(k) x[i, k]    y[i] = min(k) select(x[i, k] == M[i], k, K)
template <Expr (*Best)(const Expr&, const te::Axes&)>
std::vector<te::Tensor> define_along(const Call& call) {
  using Point = std::vector<te::Var>;
  const ArgAttrs& attrs = call.attrs<ArgAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const Dim extent = call.shape(0)[static_cast<size_t>(axis)];
  const std::optional<int64_t> known = ir::const_int(extent);
  const bool is_small = known && *known <= std::numeric_limits<int32_t>::max();
  const ir::Elem index = is_small ? ir::Elem::I32 : ir::Elem::I64;
  const Expr nowhere = te::cast(
      index, is_small ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max());
  const auto x = [&](const Point& point, const Expr& k) {
    return call.in(0).at(place_of(attrs, axis, point, k));
  };
  const auto is_found = [&](const Expr& value, const Expr& best) {
    return ir::is_float(call.elem(0)) ? value == best || te::isnan(value) : value == best;
  };
  // The first, or last, of the places 0 … n - 1 that have it.
  const auto first_of = [&](const Expr& n, FunctionRef<Expr(const Expr&)> has) {
    const te::Axis k = te::reduce_axis(n, "k");
    const Expr place = te::cast(index, k);
    if (attrs.last) return te::max_over(te::select(has(k), place, te::cast(index, -1)), k);
    return te::min_over(te::select(has(k), place, nowhere), k);
  };
  const auto as_result = [](const te::Tensor& places) {
    return std::vector{te::map(places, [](const Expr& i) { return te::cast(ir::Elem::I64, i); })};
  };
  if (!known || *known < kLong) {
    const te::Tensor best = te::compute("best", call.out_shape(), [&](const Point& point) {
      const te::Axis k = te::reduce_axis(extent, "k");
      return Best(x(point, k), k);
    });
    return as_result(te::compute("place", call.out_shape(), [&](const Point& point) {
      return first_of(
          extent, [&](const Expr& k) { return is_found(x(point, k), best.at(indices_of(point))); });
    }));
  }
  // The last stretch reaches back into the one before it.
  const int64_t stretches = (*known + kStretch - 1) / kStretch;
  const auto begin_of = [&](const Expr& stretch) {
    return te::min(stretch * kStretch, *known - kStretch);
  };
  std::vector<Expr> shape = call.out_shape();
  shape.emplace_back(stretches);
  const te::Tensor bests = te::compute("bests", shape, [&](const Point& point) {
    const te::Axis k = te::reduce_axis(kStretch, "k");
    return Best(x(Point(point.begin(), point.end() - 1), begin_of(point.back()) + k), k);
  });
  const auto of_stretch = [&](const Point& point, const Expr& s) {
    At at = indices_of(point);
    at.push_back(s);
    return bests.at(at);
  };
  const te::Tensor best = te::compute("best", call.out_shape(), [&](const Point& point) {
    const te::Axis s = te::reduce_axis(stretches, "s");
    return Best(of_stretch(point, s), s);
  });
  const te::Tensor begin = te::compute("begin", call.out_shape(), [&](const Point& point) {
    return first_of(stretches, [&](const Expr& s) {
      return is_found(of_stretch(point, s), best.at(indices_of(point)));
    });
  });
  const te::Tensor first =
      te::map(begin, [&](const Expr& s) { return begin_of(as(ir::Elem::I64, s)); });
  const te::Tensor inside = te::compute("place", call.out_shape(), [&](const Point& point) {
    return first_of(kStretch, [&](const Expr& k) {
      return is_found(x(point, first.at(indices_of(point)) + k), best.at(indices_of(point)));
    });
  });
  return {te::compute(call.out_shape(), [&](const Point& point) {
    return first.at(indices_of(point)) + te::cast(ir::Elem::I64, inside.at(indices_of(point)));
  })};
}

struct Row {
  std::string_view name, onnx;
  std::vector<te::Tensor> (*along)(const Call&);
  std::vector<te::Tensor> (*direct)(const Call&);
};
constexpr std::array<Row, 2> kRows = {{
    {"arg_max", "ArgMax", define_along<te::max_over>, define<te::argmax>},
    {"arg_min", "ArgMin", define_along<te::min_over>, define<te::argmin>},
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
    out.push_back(define_op<ArgAttrs>(
        {.name = row.name,
         .fusion = FusionKind::Reduction,
         .infer = infer,
         .algorithms = {{.name = "along", .define = row.along, .applies = runs_along},
                        {.name = "direct", .define = row.direct}},
         .onnx = {{.op = row.onnx, .rule = from_onnx}}}));
  return out;
}

}  // namespace

std::span<const OpDef> arg_reduce_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
