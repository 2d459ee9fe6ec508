// SPDX-License-Identifier: Apache-2.0
// The elements of one tensor in other places: transpose, expand, tile and their kin, a row each.
#include <algorithm>

#include "graph/onnx_node.h"
#include "ir/print.h"
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
using te::Var;
using Point = std::vector<Var>;

// transpose

std::vector<size_t> order_of(const Call& call) {
  const std::vector<int64_t>& axes = call.attrs<AxesAttrs>().axes;
  const auto rank = static_cast<size_t>(call.rank(0));
  std::vector<size_t> out;
  std::vector<bool> seen(rank);
  for (const int64_t a : axes) {
    out.push_back(static_cast<size_t>(normal_axis(call, a, call.rank(0))));
    if (out.back() < rank) seen[out.back()] = true;
  }
  if (out.size() != rank || std::find(seen.begin(), seen.end(), false) != seen.end())
    call.refuse("ops.transpose.order", str("`perm` is no order of ", rank, " dimensions"),
                str("list each of 0 to ", rank - 1, " once"));
  return out;
}

std::vector<Type> infer_transpose(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  Shape shape;
  for (const size_t d : order_of(call)) shape.push_back(call.shape(0)[d]);
  return {tensor_of(call.elem(0), std::move(shape))};
}

std::vector<Elements> elements_same(const Call& call) { return {list_of(call, 0)}; }

std::vector<te::Tensor> define_transpose(const Call& call) {
  const std::vector<size_t> order = order_of(call);
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices(order.size(), 0);
    for (size_t d = 0; d < order.size(); ++d) indices[order[d]] = at[d];
    return call.in(0).at(indices);
  })};
}

void transpose_from_onnx(const OnnxNode& n, Builder& g) {
  std::vector<int64_t> order = n.attr_ints("perm");
  if (order.empty())
    for (int64_t d = g.tensor(n.need(0)).rank(); d-- > 0;) order.push_back(d);
  g.output(n, g.call(op("transpose"), AxesAttrs{order}, {n.need(0)}));
}

// expand: broadcast against the shape that input 1 lists

std::vector<Type> infer_expand(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  const std::vector<Dim> wanted = call.elements(1);
  const Shape& in = call.shape(0);
  const size_t rank = std::max(in.size(), wanted.size());
  Shape out;
  for (size_t d = 0; d < rank; ++d) {
    const bool has_in = d + in.size() >= rank, has_wanted = d + wanted.size() >= rank;
    const Dim n = has_in ? in[d + in.size() - rank] : Dim(1);
    const Dim w = has_wanted ? wanted[d + wanted.size() - rank] : Dim(1);
    if (same(n, w) || ir::is_const(w, 1)) {
      out.push_back(n);
      continue;
    }
    if (!ir::is_const(n, 1))
      call.check(
          ir::logical_or(ir::eq(n, w), ir::logical_or(ir::eq(n, Dim(1)), ir::eq(w, Dim(1)))),
          str("dimension ", d, " cannot be expanded from ", ir::print(n), " to ", ir::print(w)));
    const std::optional<int64_t> c = ir::const_int(n);
    out.push_back(c && *c != 1 ? n : call.extent(choose(ir::eq(n, Dim(1)), w, n)));
  }
  return {tensor_of(call.elem(0), std::move(out))};
}

std::vector<Elements> elements_expand(const Call& call) {
  const Elements known = list_of(call, 0), shape = list_of(call, 1);
  if (!known || !shape || shape->size() > 1) return {std::nullopt};
  const std::optional<int64_t> wanted = shape->empty() ? 1 : ir::const_int((*shape)[0]);
  if (!wanted || *wanted < 0 || *wanted > kMaxElements) return {std::nullopt};
  if (known->size() == 1) return {std::vector<Dim>(static_cast<size_t>(*wanted), (*known)[0])};
  return {known};
}

std::vector<te::Tensor> define_expand(const Call& call) {
  const Shape &in = call.shape(0), &out = call.out(0).shape;
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices;
    const size_t missing = out.size() - in.size();
    for (size_t d = 0; d < in.size(); ++d) {
      const Var& i = at[missing + d];
      indices.push_back(ir::is_const(in[d], 1)          ? Expr(0)
                        : same(in[d], out[missing + d]) ? Expr(i)
                                                        : te::select(Expr(in[d]) == 1, 0, i));
    }
    return call.in(0).at(indices);
  })};
}

void expand_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("expand"), NoAttrs{}, {n.need(0), n.need(1)}));
}

// tile: input 1 says how often each dimension is repeated

std::vector<Type> infer_tile(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  const std::vector<Dim> repeats = call.elements(1);
  if (repeats.size() != call.shape(0).size())
    call.refuse("ops.tile.count",
                str(repeats.size(), " repeats for a tensor of rank ", call.rank(0)),
                "give one for each dimension");
  Shape shape;
  for (size_t d = 0; d < repeats.size(); ++d)
    shape.push_back(call.extent(call.shape(0)[d] * repeats[d]));
  return {tensor_of(call.elem(0), std::move(shape))};
}

std::vector<Elements> elements_tile(const Call& call) {
  const Elements known = list_of(call, 0), repeats = list_of(call, 1);
  if (!known || !repeats) return {std::nullopt};
  if (repeats->empty()) return {known};
  const std::optional<int64_t> count = ir::const_int((*repeats)[0]);
  if (!count || *count < 0 || *count * static_cast<int64_t>(known->size()) > kMaxElements)
    return {std::nullopt};
  std::vector<Dim> out;
  for (int64_t i = 0; i < *count; ++i) out.insert(out.end(), known->begin(), known->end());
  return {out};
}

std::vector<te::Tensor> define_tile(const Call& call) {
  const Shape &in = call.shape(0), &out = call.out(0).shape;
  return {te::compute(call.out_shape(), [&](const Point& at) {
    At indices;
    for (size_t d = 0; d < in.size(); ++d)
      indices.push_back(ir::is_const(in[d], 1) ? Expr(0)
                        : same(in[d], out[d])  ? Expr(at[d])
                                               : at[d] % Expr(in[d]));
    return call.in(0).at(indices);
  })};
}

void tile_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("tile"), NoAttrs{}, {n.need(0), n.need(1)}));
}

// depth_to_space and space_to_depth: blocks of block x block elements against channels

std::vector<Type> infer_depth_to_space(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  need_rank(call, 0, 4);
  const Dim block = call.attrs<BlockAttrs>().block;
  const Shape& in = call.shape(0);
  call.check(ir::eq(in[1] % (block * block), Dim(0)),
             "the channels must be a multiple of the square of `blocksize`");
  return {tensor_of(call.elem(0), {in[0], simplified(in[1] / (block * block)),
                                   simplified(in[2] * block), simplified(in[3] * block)})};
}

std::vector<te::Tensor> define_depth_to_space(const Call& call) {
  const auto& [block, depth_first] = call.attrs<BlockAttrs>();
  const Expr channels = Expr(call.out(0).shape[1]);
  return {
      te::compute(call.out_shape(), [&](const Var& n, const Var& c, const Var& y, const Var& x) {
        const Expr inner = (y % block) * block + x % block;
        const Expr channel = depth_first ? inner * channels + c : c * (block * block) + inner;
        return call.in(0)(n, channel, y / block, x / block);
      })};
}

BlockAttrs block_attrs(const OnnxNode& n) {
  const BlockAttrs attrs{n.attr_int("blocksize"), n.attr_string("mode", "DCR") != "CRD"};
  if (attrs.block < 1)
    n.refuse("ops.rearrange.block", str("`blocksize` is ", attrs.block), "use at least 1");
  return attrs;
}

void depth_to_space_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("depth_to_space"), block_attrs(n), {n.need(0)}));
}

std::vector<Type> infer_space_to_depth(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  need_rank(call, 0, 4);
  const Dim block = call.attrs<BlockAttrs>().block;
  const Shape& in = call.shape(0);
  for (const size_t d : {size_t{2}, size_t{3}})
    call.check(ir::eq(in[d] % block, Dim(0)), "height and width must be multiples of `blocksize`");
  return {tensor_of(call.elem(0), {in[0], simplified(in[1] * (block * block)),
                                   simplified(in[2] / block), simplified(in[3] / block)})};
}

std::vector<te::Tensor> define_space_to_depth(const Call& call) {
  const auto& [block, depth_first] = call.attrs<BlockAttrs>();
  const Expr channels = Expr(call.shape(0)[1]);
  return {
      te::compute(call.out_shape(), [&](const Var& n, const Var& c, const Var& y, const Var& x) {
        const Expr inner = depth_first ? c / channels : c % (block * block);
        const Expr channel = depth_first ? c % channels : c / (block * block);
        return call.in(0)(n, channel, y * block + inner / block, x * block + inner % block);
      })};
}

void space_to_depth_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("space_to_depth"), block_attrs(n), {n.need(0)}));
}

// reverse_sequence: (data, lengths), the first elements of the time axis in reverse

std::vector<Type> infer_reverse(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  need_int(call, 1);
  need_min_rank(call, 0, 2);
  need_rank(call, 1, 1);
  const auto& [time, batch] = call.attrs<ReverseAttrs>();
  if (time + batch != 1 || time * batch != 0)
    call.refuse("ops.reverse_sequence.axes",
                str("the time axis is ", time, ", the batch axis ", batch),
                "one of them must be 0, the other 1");
  call.equal(call.shape(0)[static_cast<size_t>(batch)], call.shape(1)[0],
             "the batch and the lengths");
  return {call.type(0)};
}

std::vector<te::Tensor> define_reverse(const Call& call) {
  const auto& [time, batch] = call.attrs<ReverseAttrs>();
  const auto t = static_cast<size_t>(time), b = static_cast<size_t>(batch);
  return {te::compute(call.out_shape(), [&](const Point& at) {
    const Expr longest = Expr(call.shape(0)[t]);
    const Expr length = te::min(as(ir::Elem::I64, call.in(1)(at[b])), longest);
    At indices = indices_of(at);
    indices[t] = te::select(at[t] < length, length - 1 - at[t], at[t]);
    return call.in(0).at(indices);
  })};
}

void reverse_from_onnx(const OnnxNode& n, Builder& g) {
  const ReverseAttrs attrs{n.attr_int("time_axis", 0), n.attr_int("batch_axis", 1)};
  g.output(n, g.call(op("reverse_sequence"), attrs, {n.need(0), n.need(1)}));
}

// trilu: (data[, k]), all that is above, or below, a diagonal of the last two dimensions

std::vector<Type> infer_trilu(const Call& call) {
  need(call, 0, Kind::Any, "ops.rearrange.type");
  need_min_rank(call, 0, 2);
  return {call.type(0)};
}

std::vector<te::Tensor> define_trilu(const Call& call) {
  const bool upper = call.attrs<TriluAttrs>().upper;
  const Expr k = call.has(1) ? Expr(call.element(1, 0)) : Expr(0);
  const ir::Elem elem = call.elem(0);
  return {te::compute(call.out_shape(), [&](const Point& at) {
    const Expr offset = at[at.size() - 1] - at[at.size() - 2];
    return te::select(upper ? offset >= k : offset <= k, call.in(0).at(indices_of(at)),
                      elem == ir::Elem::Bool ? Expr(false) : te::cast(elem, 0));
  })};
}

void trilu_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("trilu"), TriluAttrs{n.attr_int("upper", 1) != 0}, {n.need(0), n.in(1)}));
}

template <class Attrs = NoAttrs>
OpDef row(std::string_view name, std::vector<Type> (*infer)(const Call&),
          std::vector<Elements> (*elements)(const Call&),
          std::vector<te::Tensor> (*define)(const Call&), OnnxRule rule) {
  return define_op<Attrs>({.name = name,
                           .fusion = FusionKind::Injective,
                           .infer = infer,
                           .elements = elements,
                           .algorithms = {{.name = "direct", .define = define}},
                           .onnx = {rule}});
}

}  // namespace

std::span<const OpDef> rearrange_ops() {
  static const OpDef defs[] = {
      row<BlockAttrs>("depth_to_space", infer_depth_to_space, nullptr, define_depth_to_space,
                      {.op = "DepthToSpace", .rule = depth_to_space_from_onnx}),
      row("expand", infer_expand, elements_expand, define_expand,
          {.op = "Expand", .rule = expand_from_onnx}),
      row<ReverseAttrs>("reverse_sequence", infer_reverse, nullptr, define_reverse,
                        {.op = "ReverseSequence", .rule = reverse_from_onnx}),
      row<BlockAttrs>("space_to_depth", infer_space_to_depth, nullptr, define_space_to_depth,
                      {.op = "SpaceToDepth", .rule = space_to_depth_from_onnx}),
      row("tile", infer_tile, elements_tile, define_tile,
          {.op = "Tile", .from = 6, .rule = tile_from_onnx}),
      row<AxesAttrs>("transpose", infer_transpose, elements_same, define_transpose,
                     {.op = "Transpose", .rule = transpose_from_onnx}),
      row<TriluAttrs>("trilu", infer_trilu, nullptr, define_trilu,
                      {.op = "Trilu", .rule = trilu_from_onnx}),
  };
  return defs;
}

}  // namespace tilewright::ops
