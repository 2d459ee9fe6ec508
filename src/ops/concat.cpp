// SPDX-License-Identifier: Apache-2.0
// Putting tensors together along an axis, and taking them apart.
#include <algorithm>
#include <unordered_map>

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

/// 0, d0, d0 + d1, …
std::vector<Dim> offsets_of(const std::vector<Dim>& extents) {
  std::vector<Dim> out = {Dim(0)};
  for (const Dim& d : extents) out.push_back(simplified(out.back() + d));
  return out;
}

/// The sum of many extents: equal ones are counted, and the rest is added up in pairs, so that
/// thousands of them are no deep formula.
Dim sum_of(const Call& call, const std::vector<Dim>& extents) {
  int64_t constant = 0;
  std::vector<std::pair<Dim, int64_t>> counted;
  std::unordered_map<const ir::ExprNode*, size_t> places;
  for (const Dim& d : extents) {
    const std::optional<int64_t> c = ir::const_int(d);
    if (c && __builtin_add_overflow(constant, *c, &constant))
      call.refuse("ops.concat.size", "the extents add up to more than 2^63", "concatenate less");
    if (c) continue;
    const auto [at, is_new] = places.emplace(d.get(), counted.size());
    if (is_new) counted.emplace_back(d, 0);
    ++counted[at->second].second;
  }
  std::vector<Dim> terms;
  for (const auto& [d, count] : counted) terms.push_back(count == 1 ? d : d * Dim(count));
  if (constant != 0 || terms.empty()) terms.emplace_back(constant);
  while (terms.size() > 1) {
    std::vector<Dim> pairs;
    for (size_t i = 0; i < terms.size(); i += 2)
      pairs.push_back(i + 1 < terms.size() ? terms[i] + terms[i + 1] : terms[i]);
    terms = std::move(pairs);
  }
  return call.extent(terms[0]);
}

// concat

std::vector<Type> infer_concat(const Call& call) {
  const int axis = normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0));
  Shape shape = call.shape(0);
  if (shape.empty())
    call.refuse("ops.concat.rank", "the inputs have no dimensions", "unsqueeze them first");
  const auto a = static_cast<size_t>(axis);
  std::vector<Dim> extents;
  for (size_t i = 0; i < call.inputs(); ++i) {
    need(call, i, Kind::Any, "ops.concat.type");
    need_same_elem(call, 0, i);
    need_rank(call, i, call.rank(0));
    extents.push_back(call.shape(i)[a]);
    for (size_t d = 0; d < shape.size() && i > 0; ++d)
      if (d != a) shape[d] = call.equal(shape[d], call.shape(i)[d], str("dimension ", d));
  }
  shape[a] = sum_of(call, extents);
  return {tensor_of(call.elem(0), std::move(shape))};
}

std::vector<Elements> elements_concat(const Call& call) {
  std::vector<Dim> out;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const Elements known = list_of(call, i);
    if (!known) return {std::nullopt};
    out.insert(out.end(), known->begin(), known->end());
  }
  return {out};
}

/// The element of input `first` … `last` - 1 that holds place `at` of the axis.
Expr read_one_of(const Call& call, const std::vector<Dim>& offsets, size_t first, size_t last,
                 size_t axis, const Point& at) {
  if (last - first == 1) {
    At indices = indices_of(at);
    indices[axis] = at[axis] - Expr(offsets[first]);
    return call.in(first).at(indices);
  }
  const size_t middle = (first + last) / 2;
  return te::guard(at[axis] < Expr(offsets[middle]),
                   read_one_of(call, offsets, first, middle, axis, at),
                   read_one_of(call, offsets, middle, last, axis, at));
}

std::vector<te::Tensor> define_concat(const Call& call) {
  const auto axis =
      static_cast<size_t>(normal_axis(call, call.attrs<AxisAttrs>().axis, call.rank(0)));
  std::vector<Dim> extents;
  for (size_t i = 0; i < call.inputs(); ++i) extents.push_back(call.shape(i)[axis]);
  return {te::compute(call.out_shape(), [&](const Point& at) {
    return read_one_of(call, offsets_of(extents), 0, call.inputs(), axis, at);
  })};
}

void concat_from_onnx(const OnnxNode& n, Builder& g) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) inputs.push_back(n.need(i));
  n.need(0);
  // The offset of each input is the sum of all extents before it, so that what a kernel of
  // thousands computes would be without end.
  constexpr size_t kMostKnown = 256, kMostUnknown = 16;
  const AxisAttrs attrs{n.attr_int("axis", 1)};
  const auto has_known_extent = [&](ValueId id) {
    const Shape& shape = g.tensor(id).shape;
    const int64_t rank = std::ssize(shape), axis = attrs.axis < 0 ? attrs.axis + rank : attrs.axis;
    return axis >= 0 && axis < rank && ir::const_int(shape[static_cast<size_t>(axis)]);
  };
  const size_t most = std::ranges::all_of(inputs, has_known_extent) ? kMostKnown : kMostUnknown;
  while (inputs.size() > most) {
    std::vector<ValueId> joined;
    for (size_t first = 0; first < inputs.size(); first += most)
      joined.push_back(
          g.call(op("concat"), attrs,
                 {inputs.begin() + static_cast<ptrdiff_t>(first),
                  inputs.begin() + static_cast<ptrdiff_t>(std::min(first + most, inputs.size()))}));
    inputs = std::move(joined);
  }
  g.output(n, g.call(op("concat"), attrs, inputs));
}

// split: input 1 lists the extents of the results; without it they are equal, the last one less
// when that does not come out even.

std::vector<Dim> split_extents(const Call& call) {
  const auto& [given_axis, outputs] = call.attrs<SplitAttrs>();
  const int axis = normal_axis(call, given_axis, call.rank(0));
  const Dim& whole = call.shape(0)[static_cast<size_t>(axis)];
  if (!call.has(1)) {
    const Dim part = simplified(ir::ceil_div(whole, Dim(outputs)));
    std::vector<Dim> extents(static_cast<size_t>(outputs - 1), part);
    extents.push_back(call.extent(whole - part * Dim(outputs - 1)));
    return extents;
  }
  std::vector<Dim> extents;
  Dim sum = 0;
  for (const Dim& d : call.elements(1)) {
    extents.push_back(call.extent(d));
    sum = sum + extents.back();
  }
  if (static_cast<int64_t>(extents.size()) != outputs)
    call.refuse("ops.split.count",
                str("there are ", extents.size(), " extents for ", outputs, " results"),
                "give one extent for each result");
  call.check(ir::eq(simplified(sum), whole), "the extents of Split must add up to the dimension");
  return extents;
}

std::vector<Type> infer_split(const Call& call) {
  need(call, 0, Kind::Any, "ops.split.type");
  const int axis = normal_axis(call, call.attrs<SplitAttrs>().axis, call.rank(0));
  std::vector<Type> out;
  for (const Dim& extent : split_extents(call)) {
    Shape shape = call.shape(0);
    shape[static_cast<size_t>(axis)] = extent;
    out.push_back(tensor_of(call.elem(0), std::move(shape)));
  }
  return out;
}

std::vector<Elements> elements_split(const Call& call) {
  const Elements known = list_of(call, 0);
  if (!known) return {};
  std::vector<Elements> out;
  auto from = known->begin();
  for (const Dim& extent : split_extents(call)) {
    const std::optional<int64_t> count = ir::const_int(extent);
    if (!count || *count > known->end() - from) return {};
    out.push_back(std::vector<Dim>(from, from + *count));
    from += *count;
  }
  return out;
}

std::vector<te::Tensor> define_split(const Call& call) {
  const auto axis =
      static_cast<size_t>(normal_axis(call, call.attrs<SplitAttrs>().axis, call.rank(0)));
  const std::vector<Dim> extents = split_extents(call);
  const std::vector<Dim> offsets = offsets_of(extents);
  std::vector<te::Tensor> out;
  for (size_t i = 0; i < extents.size(); ++i) {
    Shape shape = call.shape(0);
    shape[axis] = extents[i];
    out.push_back(te::compute(te_shape(shape), [&](const Point& at) {
      At indices = indices_of(at);
      indices[axis] = at[axis] + Expr(offsets[i]);
      return call.in(0).at(indices);
    }));
  }
  return out;
}

void split(const OnnxNode& n, Builder& g, ValueId extents) {
  const SplitAttrs attrs{n.attr_int("axis", 0), static_cast<int64_t>(n.outputs.size())};
  g.outputs(n, g.calls(op("split"), attrs, {n.need(0), extents}, n.outputs.size()));
}
void split_from_onnx(const OnnxNode& n, Builder& g) {
  const int64_t outputs = n.attr_int("num_outputs", static_cast<int64_t>(n.outputs.size()));
  if (outputs != static_cast<int64_t>(n.outputs.size()))
    n.refuse("ops.split.count",
             str("`num_outputs` is ", outputs, ", the node has ", n.outputs.size(), " outputs"),
             "make them equal");
  split(n, g, n.in(1));
}
void split_with_attribute(const OnnxNode& n, Builder& g) {
  split(n, g, n.has_attr("split") ? g.ints(n.attr_ints("split")) : kNoValue);
}

// select: one place of an axis, without the axis.

struct SelectAttrs {
  int64_t axis = 0, index = 0;
  static constexpr auto fields =
      std::tuple{field("axis", &SelectAttrs::axis), field("index", &SelectAttrs::index)};
};

std::vector<Type> infer_select(const Call& call) {
  need(call, 0, Kind::Any, "ops.select.type");
  const SelectAttrs& attrs = call.attrs<SelectAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  Shape shape = call.shape(0);
  call.check(Dim(attrs.index) < shape[static_cast<size_t>(axis)], "the place lies on the axis");
  shape.erase(shape.begin() + axis);
  return {tensor_of(call.elem(0), std::move(shape))};
}

std::vector<te::Tensor> define_select(const Call& call) {
  const SelectAttrs& attrs = call.attrs<SelectAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  return {te::compute(call.out_shape(), [&](const std::vector<te::Var>& point) {
    At at = indices_of(point);
    at.insert(at.begin() + axis, te::Expr(attrs.index));
    return call.in(0).at(at);
  })};
}

}  // namespace

std::span<const OpDef> concat_ops() {
  static const OpDef defs[] = {
      define_op<AxisAttrs>({.name = "concat",
                            .fusion = FusionKind::Injective,
                            .infer = infer_concat,
                            .elements = elements_concat,
                            .algorithms = {{.name = "direct", .define = define_concat}},
                            .onnx = {{.op = "Concat", .rule = concat_from_onnx}}}),
      define_op<SelectAttrs>({.name = "select",
                              .fusion = FusionKind::Injective,
                              .infer = infer_select,
                              .algorithms = {{.name = "direct", .define = define_select}}}),
      define_op<SplitAttrs>(
          {.name = "split",
           .fusion = FusionKind::Injective,
           .infer = infer_split,
           .elements = elements_split,
           .algorithms = {{.name = "direct", .define = define_split}},
           .onnx = {{.op = "Split", .from = 13, .rule = split_from_onnx},
                    {.op = "Split", .from = 2, .rule = split_with_attribute, .to = 12}}}),
  };
  return defs;
}

}  // namespace tilewright::ops
