// SPDX-License-Identifier: Apache-2.0
// ScatterElements (Scatter), ScatterND and TensorScatter: a copy of the data with updates put in.
// Updates of one place happen in the order of the indices. Indices out of range are refused where
// they are constants, and an error of the run otherwise (check_indices); without that check they
// change nothing.
#include <array>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/loops.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;

enum class Combine : uint8_t { Replace, Add, Mul, Min, Max };
constexpr std::array<std::string_view, 5> kCombineNames = {"none", "add", "mul", "min", "max"};

struct ScatterAttrs {
  int64_t axis = 0;  // of ScatterElements
  Combine combine = Combine::Replace;
  static constexpr auto fields =
      std::tuple{field("axis", &ScatterAttrs::axis), field("combine", &ScatterAttrs::combine)};
};

const OpDef& scatter_elements_op();
const OpDef& scatter_nd_op();

Expr combined(Combine how, const Expr& old, const Expr& update) {
  const bool is_bool = old.type().elem == ir::Elem::Bool;
  switch (how) {
    case Combine::Replace: return update;
    case Combine::Add: return is_bool ? ir::logical_or(old, update) : old + update;
    case Combine::Mul: return is_bool ? ir::logical_and(old, update) : old * update;
    case Combine::Min: return is_bool ? ir::logical_and(old, update) : ir::min(old, update);
    case Combine::Max: return is_bool ? ir::logical_or(old, update) : ir::max(old, update);
  }
  __builtin_unreachable();
}

void check_types(const Call& call) {
  need_int(call, 1);
  need_same_elem(call, 0, 2);
}

/// Places that are known lie in range.
void check_constant(const Call& call, int64_t index, const Dim& extent) {
  const std::optional<int64_t> n = ir::const_int(extent);
  if (n && (index < -*n || index >= *n))
    call.refuse("ops.scatter.index", str("index ", index, " of a dimension of extent ", *n),
                str("use indices between ", -*n, " and ", *n - 1));
}

Stmt copy(const LoopForm& f) {
  const Buffer &from = f.in(0), &to = f.out(0);
  return stored("copy", to, [&](const Coords& v) { return ir::load(from, v); });
}

Expr in_range(const Expr& index, const Expr& extent) {
  return ir::logical_and(Expr(0) <= index, index < extent);
}

std::vector<Type> infer_elements(const Call& call) {
  check_types(call);
  const int axis = normal_axis(call, call.attrs<ScatterAttrs>().axis, call.rank(0));
  if (call.rank(0) == 0 || call.rank(1) != call.rank(0) || call.rank(2) != call.rank(0))
    call.refuse("ops.scatter.rank", "data, indices and updates have different ranks, or rank 0",
                "give all three the same rank, at least 1");
  for (size_t d = 0; d < call.shape(0).size(); ++d) {
    call.equal(call.shape(1)[d], call.shape(2)[d], "indices and updates");
    if (static_cast<int>(d) != axis)
      call.check(call.shape(1)[d] <= call.shape(0)[d],
                 "ScatterElements: the indices have no greater extent than the data");
  }
  if (const ConstantNode* indices = call.constant(1))
    for (int64_t i = 0; i < indices->count(); ++i)
      check_constant(call, int_at(*indices, i), call.shape(0)[static_cast<size_t>(axis)]);
  return {call.type(0)};
}

std::vector<Dim> extent_of_axis(const Call& call) {
  const int axis = normal_axis(call, call.attrs<ScatterAttrs>().axis, call.rank(0));
  return {call.shape(0)[static_cast<size_t>(axis)]};
}

/// Rows along the axis are independent; in a row, updates happen in order.
ir::LoopFunc elements_loops(const Call& call) {
  const ScatterAttrs& attrs = call.attrs<ScatterAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const Expr extent = call.shape(0)[static_cast<size_t>(axis)];
  const LoopForm f(call, "scatter_elements", 1);
  const Buffer &indices = f.in(1), &updates = f.in(2), &out = f.out(0);
  const auto row_of = [&](const Buffer& b, const Coords& v) {
    return part(b, inserted(v, axis, Expr()));
  };
  const Stmt scatter = independent(
      "scatter", without(call.shape(1), axis),
      [&](const Coords& v) {
        return std::vector{row_of(indices, v), row_of(updates, v), row_of(out, v)};
      },
      [&](const Coords& v) { return std::vector{row_of(out, v)}; },
      [&](const Coords& v) {
        return each("i", call.shape(1)[static_cast<size_t>(axis)], [&](const Expr& i) {
          const Coords from = inserted(v, axis, i);
          const Expr index = ir::cast(ir::Elem::I64, ir::load(indices, from));
          return let("at", from_end(index, extent), [&](const Expr& at) {
            const Coords to = inserted(v, axis, at);
            return when(in_range(at, extent),
                        store(out, to,
                              combined(attrs.combine, ir::load(out, to), ir::load(updates, from))));
          });
        });
      });
  return f.func(steps({copy(f), scatter}));
}

/// How many dimensions of the data the tuples of indices name.
size_t tuple_length(const Call& call) {
  const std::optional<int64_t> n =
      call.rank(1) > 0 ? ir::const_int(call.shape(1).back()) : std::nullopt;
  if (!n || *n < 0 || *n > call.rank(0))
    call.refuse("ops.scatter_nd.indices", str("the indices are ", print(call.type(1))),
                "their last dimension is a constant, at most the rank of the data");
  return static_cast<size_t>(*n);
}

std::vector<Dim> extents_of_tuple(const Call& call) {
  const auto first = call.shape(0).begin();
  return {first, first + static_cast<ptrdiff_t>(tuple_length(call))};
}

std::vector<Type> infer_nd(const Call& call) {
  check_types(call);
  const size_t q = tuple_length(call);
  const Shape &data = call.shape(0), &indices = call.shape(1), &updates = call.shape(2);
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + static_cast<ptrdiff_t>(q), data.end());
  if (updates.size() != expected.size())
    call.refuse("ops.scatter_nd.updates", str("the updates are ", print(call.type(2))),
                str("give them the shape ", print(expected)));
  for (size_t d = 0; d < expected.size(); ++d) call.equal(updates[d], expected[d], "the updates");
  if (const ConstantNode* c = call.constant(1))
    for (int64_t i = 0; i < c->count(); ++i)
      check_constant(call, int_at(*c, i), data[static_cast<size_t>(i) % q]);
  return {call.type(0)};
}

/// Slice after slice, in the order of the updates.
ir::LoopFunc nd_loops(const Call& call) {
  const ScatterAttrs& attrs = call.attrs<ScatterAttrs>();
  const size_t q = tuple_length(call);
  const LoopForm f(call, "scatter_nd", 1);
  const Buffer &indices = f.in(1), &updates = f.in(2), &out = f.out(0);
  const Shape& data = call.shape(0);
  const Shape tuples(call.shape(1).begin(), call.shape(1).end() - 1);
  const Shape slice(data.begin() + static_cast<ptrdiff_t>(q), data.end());
  const auto update = [&](const Coords& t, const Coords& place) {
    return each(slice, [&](const Coords& v) {
      Coords from = t, to = place;
      from.insert(from.end(), v.begin(), v.end());
      to.insert(to.end(), v.begin(), v.end());
      return store(out, to, combined(attrs.combine, ir::load(out, to), ir::load(updates, from)));
    });
  };
  const auto of_tuple = [&](const Coords& t, const Coords& found, const auto& self) -> Stmt {
    const size_t d = found.size();
    if (d == q) {
      Expr inside = ir::bool_imm(true);
      for (size_t i = 0; i < q; ++i) inside = ir::both(in_range(found[i], data[i]), inside);
      return when(inside, update(t, found));
    }
    Coords at = t;
    at.push_back(Expr(static_cast<int64_t>(d)));
    const Expr index = from_end(ir::cast(ir::Elem::I64, ir::load(indices, at)), data[d]);
    return let("at", index, [&](const Expr& here) {
      Coords more = found;
      more.push_back(here);
      return self(t, more, self);
    });
  };
  const Stmt scatter =
      alone("scatter", {indices, updates, out}, {out},
            each(tuples, [&](const Coords& t) { return of_tuple(t, {}, of_tuple); }));
  return f.func(steps({copy(f), scatter}));
}

// Inputs: past cache [b, …], update of the same rank, write_indices [b] (optional).
struct TensorScatterAttrs {
  int64_t axis = -2;
  bool circular = false;
  static constexpr auto fields = std::tuple{field("axis", &TensorScatterAttrs::axis),
                                            field("circular", &TensorScatterAttrs::circular)};
};
const OpDef& tensor_scatter_op();

std::vector<Type> infer_tensor(const Call& call) {
  need_same_elem(call, 0, 1);
  const int axis = normal_axis(call, call.attrs<TensorScatterAttrs>().axis, call.rank(0));
  if (axis == 0 || call.rank(1) != call.rank(0))
    call.refuse("ops.tensor_scatter.shape",
                str("the cache is ", print(call.type(0)), ", the update ", print(call.type(1))),
                "give both the same rank, and an axis that is not the batch");
  for (size_t d = 0; d < call.shape(0).size(); ++d)
    if (static_cast<int>(d) != axis)
      call.equal(call.shape(0)[d], call.shape(1)[d], "the update");
    else
      call.check(call.shape(1)[d] <= call.shape(0)[d], "the update is longer than the cache");
  if (call.has(2)) {
    need_int(call, 2);
    need_rank(call, 2, 1);
    call.equal(call.shape(2)[0], call.shape(0)[0], "write_indices and the batch");
  }
  return {call.type(0)};
}

ir::LoopFunc tensor_loops(const Call& call) {
  const TensorScatterAttrs& attrs = call.attrs<TensorScatterAttrs>();
  const int axis = normal_axis(call, attrs.axis, call.rank(0));
  const Expr extent = call.shape(0)[static_cast<size_t>(axis)];
  const LoopForm f(call, "tensor_scatter", 1);
  const Buffer &update = f.in(1), &out = f.out(0);
  const auto row_of = [&](const Buffer& b, const Coords& v) {
    return part(b, inserted(v, axis, Expr()));
  };
  const Stmt scatter = independent(
      "scatter", without(call.shape(1), axis),
      [&](const Coords& v) {
        std::vector<ir::Region> reads{row_of(update, v)};
        if (call.has(2)) reads.push_back(part(f.in(2), {v[0]}));
        return reads;
      },
      [&](const Coords& v) { return std::vector{row_of(out, v)}; },
      [&](const Coords& v) {
        const Expr first =
            call.has(2) ? ir::cast(ir::Elem::I64, ir::load(f.in(2), {v[0]})) : Expr(0);
        return each("i", call.shape(1)[static_cast<size_t>(axis)], [&](const Expr& i) {
          const Expr place = attrs.circular ? (first + i) % extent : first + i;
          return let("at", place, [&](const Expr& at) {
            return when(in_range(at, extent),
                        store(out, inserted(v, axis, at), ir::load(update, inserted(v, axis, i))));
          });
        });
      });
  return f.func(steps({copy(f), scatter}));
}

Combine combine_of(const OnnxNode& n) {
  const std::string name = n.attr_string("reduction", "none");
  for (size_t i = 0; i < kCombineNames.size(); ++i)
    if (name == kCombineNames[i]) return static_cast<Combine>(i);
  n.refuse("ops.scatter.reduction", str("reduction is `", name, "`"),
           "use none, add, mul, min or max");
}

void elements_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(scatter_elements_op(),
                     ScatterAttrs{.axis = n.attr_int("axis", 0), .combine = combine_of(n)},
                     {n.need(0), n.need(1), n.need(2)}));
}

void nd_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(scatter_nd_op(), ScatterAttrs{.axis = 0, .combine = combine_of(n)},
                     {n.need(0), n.need(1), n.need(2)}));
}

void tensor_from_onnx(const OnnxNode& n, Builder& g) {
  const std::string mode = n.attr_string("mode", "linear");
  if (mode != "linear" && mode != "circular")
    n.refuse("ops.tensor_scatter.mode", str("mode is `", mode, "`"), "use linear or circular");
  g.output(
      n, g.call(tensor_scatter_op(),
                TensorScatterAttrs{.axis = n.attr_int("axis", -2), .circular = mode == "circular"},
                {n.need(0), n.need(1), n.in(2)}));
}

const OpDef& scatter_elements_op() { return scatter_ops()[0]; }
const OpDef& scatter_nd_op() { return scatter_ops()[1]; }
const OpDef& tensor_scatter_op() { return scatter_ops()[2]; }

}  // namespace

std::span<const OpDef> scatter_ops() {
  static const std::array<OpDef, 3> defs = {
      define_op<ScatterAttrs>(
          {.name = "scatter_elements",
           .infer = infer_elements,
           .indexed = extent_of_axis,
           .loops = elements_loops,
           .onnx = {{.op = "Scatter", .from = 9, .rule = elements_from_onnx, .to = 10},
                    {.op = "ScatterElements", .from = 11, .rule = elements_from_onnx}}}),
      define_op<ScatterAttrs>({.name = "scatter_nd",
                               .infer = infer_nd,
                               .indexed = extents_of_tuple,
                               .loops = nd_loops,
                               .onnx = {{.op = "ScatterND", .from = 11, .rule = nd_from_onnx}}}),
      define_op<TensorScatterAttrs>(
          {.name = "tensor_scatter",
           .infer = infer_tensor,
           .loops = tensor_loops,
           .onnx = {{.op = "TensorScatter", .from = 24, .rule = tensor_from_onnx}}})};
  return defs;
}

}  // namespace tilewright::ops
