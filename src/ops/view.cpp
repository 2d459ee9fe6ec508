// SPDX-License-Identifier: Apache-2.0
// Operators that give their input another shape and nothing else.
#include "ops/view.h"

#include <algorithm>

#include "graph/onnx_node.h"
#include "ops/control.h"
#include "ops/formula.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

/// Dimensions i … of one shape that hold as many elements as j … of the other.
struct Group {
  size_t in, in_count, out, out_count;
};

Dim product(const Shape& shape, size_t from, size_t count) {
  Dim out = 1;
  for (size_t d = from; d < from + count; ++d) out = out * shape[d];
  return out;
}

/// The fewest dimensions from here on whose products are equal; all the rest when none are.
Group next_group(const Shape& in, size_t i, const Shape& out, size_t j) {
  const size_t rest_in = in.size() - i, rest_out = out.size() - j;
  for (size_t total = 2; total < rest_in + rest_out; ++total)
    for (size_t a = 1; a < total; ++a) {
      const size_t b = total - a;
      if (a <= rest_in && b <= rest_out && same(product(in, i, a), product(out, j, b)))
        return {i, a, j, b};
    }
  return {i, rest_in, j, rest_out};
}

std::vector<Group> groups_of(const Shape& in, const Shape& out) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    groups.push_back(next_group(in, i, out, j));
    i += groups.back().in_count;
    j += groups.back().out_count;
  }
  return groups;
}

std::vector<te::Tensor> define(const Call& call) {
  return {reshaped(call.in(0), call.out(0).shape)};
}

std::vector<Elements> elements(const Call& call) {
  const Elements known = call.type(0).tensor() ? call.known_elements(0) : std::nullopt;
  return {known};
}

std::vector<Type> with_shape(const Call& call, Shape shape) {
  TensorType out = call.tensor(0);
  out.layout = nullptr;
  out.shape = std::move(shape);
  return {out};
}

// reshape: input 1 is the shape; 0 keeps a dimension (unless `allowzero`), one -1 is what is left.

/// Never negative: a product of extents, as far as it can be told.
bool is_extent(const Call& call, const Dim& formula) {
  const ir::Binary* b = formula.as<ir::Binary>();
  if (b && (b->op == ir::BinaryOp::Mul || b->op == ir::BinaryOp::Add))
    return is_extent(call, b->a) && is_extent(call, b->b);
  return call.proves(Dim(0) <= formula);
}

/// A dimension of the wanted shape; -1 where it follows from the others.
Dim wanted(const Call& call, size_t d, const Dim& given, bool allowzero) {
  // A formula that is never negative is a size: 0 then means no elements.
  if (allowzero || (!ir::const_int(given) && is_extent(call, given))) return given;
  if (static_cast<int>(d) < call.rank(0)) {
    return call.simple(choose(ir::eq(given, Dim(0)), call.shape(0)[d], given));
  }
  call.check(ir::ne(given, Dim(0)), str("dimension ", d, " of the shape is 0, but the input has ",
                                        call.rank(0), " dimensions"));
  return given;
}

/// A quotient that exists where what it is divided by is 0: a plan computes it also where it is not
/// the one that counts.
Dim defined(const Dim& quotient) {
  const auto* b = quotient.as<ir::Binary>();
  if (!b || b->op != ir::BinaryOp::Div || ir::const_int(b->b)) return quotient;
  return b->a / ir::max(b->b, Dim(1));
}

std::vector<Type> infer_reshape(const Call& call) {
  const bool allowzero = call.attrs<ReshapeAttrs>().allowzero;
  const Shape& in = call.shape(0);
  Shape dims = call.elements(1);
  std::vector<size_t> open;    // may be -1
  std::optional<size_t> rest;  // is -1
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d] = wanted(call, d, dims[d], allowzero);
    const std::optional<int64_t> c = ir::const_int(dims[d]);
    if ((c && *c < -1) || (c == -1 && rest))
      call.refuse("ops.reshape.shape", str("dimension ", d, " of the shape is ", *c),
                  "use sizes, 0 to keep a dimension, and one -1 for what is left");
    if (c == -1) rest = d;
    if (c ? *c == -1 : !is_extent(call, dims[d])) open.push_back(d);
  }
  Shape out = dims;
  for (const size_t d : open) {
    Shape others;
    for (size_t k = 0; k < dims.size(); ++k) {
      const bool known = std::find(open.begin(), open.end(), k) == open.end();
      if (k != d)
        others.push_back(known ? dims[k] : choose(ir::eq(dims[k], Dim(-1)), Dim(1), dims[k]));
    }
    const Quotient left = quotient(in, others);
    if (rest == d && left.exact)
      out[d] = call.simple(left.value);
    else
      out[d] = call.extent(choose(ir::eq(dims[d], Dim(-1)), defined(left.value), dims[d]));
  }
  const Quotient ratio = quotient(in, out);
  if (!ratio.exact || !ir::is_const(ratio.value, 1))
    call.check(ir::eq(product(in, 0, in.size()), product(out, 0, out.size())),
               str("the input ", print(in), " cannot be reshaped to ", print(out)));
  return with_shape(call, std::move(out));
}

void reshape_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("reshape"), ReshapeAttrs{n.attr_int("allowzero", 0) != 0},
                     {n.need(0), n.need(1)}));
}

// flatten: [d0 * … * d(axis-1), d(axis) * …]

std::vector<Type> infer_flatten(const Call& call) {
  const Shape& in = call.shape(0);
  int64_t axis = call.attrs<AxisAttrs>().axis;
  if (axis < 0) axis += call.rank(0);
  if (axis < 0 || axis > call.rank(0))
    call.refuse("ops.flatten.axis",
                str("axis ", call.attrs<AxisAttrs>().axis, " of a tensor of rank ", call.rank(0)),
                str("use an axis between ", -call.rank(0), " and ", call.rank(0)));
  const auto split = static_cast<size_t>(axis);
  return with_shape(
      call, {simplified(product(in, 0, split)), simplified(product(in, split, in.size() - split))});
}

void flatten_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("flatten"), AxisAttrs{n.attr_int("axis", 1)}, {n.need(0)}));
}

// squeeze: input 1 lists the axes to drop; without it, all that are 1.

std::vector<Type> infer_squeeze(const Call& call) {
  const Shape& in = call.shape(0);
  Shape out;
  if (!call.has(1)) {
    for (const Dim& d : in) {
      if (ir::is_const(d, 1)) continue;
      call.check(ir::ne(d, Dim(1)),
                 "Squeeze without axes needs to know which dimensions are 1: this one may be");
      out.push_back(d);
    }
    return with_shape(call, std::move(out));
  }
  const std::vector<Dim> axes = axes_of(call, 1, call.rank(0));
  for (const Dim& a : axes)
    call.check(ir::eq(pick(in, a), Dim(1)), "a dimension to squeeze must be 1");
  // Dimension k of the result is the k-th that is not dropped.
  Dim kept = 0;
  std::vector<Dim> place;  // among the kept ones, of every dimension; -1 when dropped
  for (size_t d = 0; d < in.size(); ++d) {
    ir::Expr dropped = ir::bool_imm(false);
    for (const Dim& a : axes)
      dropped = ir::logical_or(dropped, ir::eq(a, Dim(static_cast<int64_t>(d))));
    dropped = call.simple(dropped);
    place.push_back(choose(dropped, Dim(-1), kept));
    kept = call.extent(kept + choose(dropped, Dim(0), Dim(1)));
  }
  for (size_t k = 0; k + axes.size() < in.size(); ++k)
    out.push_back(call.extent(at_axis(place, in, static_cast<int64_t>(k), Dim(1))));
  return with_shape(call, std::move(out));
}

void squeeze_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("squeeze"), NoAttrs{}, {n.need(0), n.in(1)}));
}
void squeeze_with_attribute(const OnnxNode& n, Builder& g) {
  const ValueId axes = n.has_attr("axes") ? g.ints(n.attr_ints("axes")) : kNoValue;
  g.output(n, g.call(op("squeeze"), NoAttrs{}, {n.need(0), axes}));
}

// unsqueeze: input 1 lists the axes of the result that are new, of extent 1.

std::vector<Type> infer_unsqueeze(const Call& call) {
  const Shape& in = call.shape(0);
  const std::optional<int64_t> count = ir::const_int(graph::elements(call.shape(1)));
  const int rank = call.rank(0) + static_cast<int>(count.value_or(0));
  const std::vector<Dim> axes = axes_of(call, 1, rank);
  Shape out;
  for (int64_t d = 0; d < rank; ++d) {
    ir::Expr is_new = ir::bool_imm(false);
    Dim before = 0;
    for (const Dim& a : axes) {
      is_new = ir::logical_or(is_new, ir::eq(a, Dim(d)));
      before = before + as_int(a < Dim(d));
    }
    is_new = call.simple(is_new);
    out.push_back(
        ir::is_true(is_new) || in.empty()
            ? Dim(1)
            : call.extent(choose(is_new, Dim(1), pick(in, call.simple(Dim(d) - before)))));
  }
  return with_shape(call, std::move(out));
}

void unsqueeze_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("unsqueeze"), NoAttrs{}, {n.need(0), n.need(1)}));
}
void unsqueeze_with_attribute(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("unsqueeze"), NoAttrs{}, {n.need(0), g.ints(n.attr_ints("axes"))}));
}

std::vector<Type> infer_identity(const Call& call) { return {call.type(0)}; }

void identity_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("identity"), NoAttrs{}, {n.need(0)}));
}

template <class Attrs = NoAttrs>
OpDef view(std::string_view name, std::vector<Type> (*infer)(const Call&),
           std::vector<OnnxRule> onnx) {
  return define_op<Attrs>({.name = name,
                           .fusion = FusionKind::Injective,
                           .infer = infer,
                           .elements = elements,
                           .algorithms = {{.name = "reindexed", .define = define}},
                           .special = Special::View,
                           .onnx = std::move(onnx)});
}

}  // namespace

te::Tensor reshaped(const te::Tensor& t, const Shape& shape) {
  const Shape in(t.shape().begin(), t.shape().end());
  const std::vector<Group> groups = groups_of(in, shape);
  return te::compute(te_shape(shape), [&](const std::vector<te::Var>& point) {
    std::vector<Expr> at(in.size(), 0);
    for (const Group& group : groups) {
      Expr linear = 0;
      for (size_t d = group.out; d < group.out + group.out_count; ++d)
        if (!ir::is_const(shape[d], 1))
          linear =
              ir::is_const(linear.ir(), 0) ? Expr(point[d]) : linear * Expr(shape[d]) + point[d];
      // From the last dimension on; the first takes what is left.
      for (size_t d = group.in + group.in_count; d-- > group.in;) {
        if (ir::is_const(in[d], 1)) continue;
        bool first = true;
        for (size_t e = group.in; e < d; ++e) first = first && ir::is_const(in[e], 1);
        at[d] = first ? linear : linear % Expr(in[d]);
        if (!first) linear = linear / Expr(in[d]);
      }
    }
    return t.at(at);
  });
}

namespace {

/// For what is known of the dimensions of `x`, outside of a rule of its operator.
template <class F>
auto about(Builder& g, ValueId x, F&& f) {
  const std::vector<ValueId> inputs{x};
  return f(Call(g.graph(), op("squeeze"), Attrs(), inputs, g.origin(), {}));
}

/// Is a dimension dropped because it is 1?
ir::Expr is_dropped(const Call& call, const Dim& d) {
  return call.proves(ir::ne(d, Dim(1))) ? ir::bool_imm(false) : call.simple(ir::eq(d, Dim(1)));
}

Dim count_left(const Call& call) {
  Dim left = 0;
  for (const Dim& d : call.shape(0)) left = left + choose(is_dropped(call, d), Dim(0), Dim(1));
  return left;
}

}  // namespace

std::pair<int, int> squeezed_ranks(Builder& g, ValueId x) {
  return about(g, x, [](const Call& call) {
    std::pair<int, int> out{0, 0};
    for (const Dim& d : call.shape(0)) {
      const ir::Expr dropped = is_dropped(call, d);
      out.first += ir::is_false(dropped);
      out.second += !ir::is_true(dropped);
    }
    return out;
  });
}

ValueId squeezes_to(Builder& g, ValueId x, int rank) {
  return holds(g, ir::eq(about(g, x, count_left), Dim(rank)));
}

ValueId squeezed(Builder& g, ValueId x, int rank) {
  const Shape left = about(g, x, [&](const Call& call) {
    const auto [least, most] = squeezed_ranks(g, x);
    call.check(ir::eq(count_left(call), Dim(rank)),
               str("the dimensions that are not 1 must be ", rank, " here"));
    const Shape& in = call.shape(0);
    Shape out, place;  // place: of every dimension among those that are left, -1 for one that is 1
    Dim before = 0;
    for (const Dim& d : in) {
      const ir::Expr dropped = is_dropped(call, d);
      const bool stays = ir::is_false(dropped) || (rank == most && !ir::is_true(dropped));
      if (stays) out.push_back(d);
      place.push_back(call.simple(choose(dropped, Dim(-1), before)));
      before = call.simple(before + choose(dropped, Dim(0), Dim(1)));
    }
    if (rank == least || rank == most) return out;
    out.clear();
    for (int64_t k = 0; k < rank; ++k) out.push_back(call.extent(at_axis(place, in, k, Dim(1))));
    return out;
  });
  return g.call(op("reshape"), ReshapeAttrs{true}, {x, g.formulas(left)});
}

std::span<const OpDef> view_ops() {
  static const OpDef defs[] = {
      view<AxisAttrs>("flatten", infer_flatten, {{.op = "Flatten", .rule = flatten_from_onnx}}),
      view("identity", infer_identity, {{.op = "Identity", .rule = identity_from_onnx}}),
      view<ReshapeAttrs>("reshape", infer_reshape,
                         {{.op = "Reshape", .from = 5, .rule = reshape_from_onnx}}),
      view("squeeze", infer_squeeze,
           {{.op = "Squeeze", .from = 13, .rule = squeeze_from_onnx},
            {.op = "Squeeze", .rule = squeeze_with_attribute, .to = 12}}),
      view("unsqueeze", infer_unsqueeze,
           {{.op = "Unsqueeze", .from = 13, .rule = unsqueeze_from_onnx},
            {.op = "Unsqueeze", .rule = unsqueeze_with_attribute, .to = 12}}),
  };
  return defs;
}

}  // namespace tilewright::ops
