// SPDX-License-Identifier: Apache-2.0
#include "layer.h"

#include <string>

#include "lower/to_blocks.h"
#include "te/te.h"
#include "turn.h"

namespace bench {

using namespace tilewright;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// Pixels are counted through all rows, so that vectors of them may cross from one to the next.
te::Program conv_layer(const ConvLayer& l, int64_t lanes) {
  const int64_t out = l.out_size();
  const te::Tensor in = te::placeholder("in", ir::Elem::F32, {l.in_channels, l.size, l.size});
  const te::Tensor w = te::placeholder(
      "w", ir::Elem::F32, {l.out_channels / lanes, l.kernel, l.in_channels, l.kernel, lanes});
  const te::Axis c = te::reduce_axis(l.in_channels, "c"), r = te::reduce_axis(l.kernel, "r"),
                 s = te::reduce_axis(l.kernel, "s");
  const te::Tensor sums = te::compute(
      "sums", {l.out_channels / lanes, out * out, lanes}, [&](te::Var ob, te::Var p, te::Var o) {
        const te::Expr y = p / out * l.stride + r - l.kernel / 2;
        const te::Expr x = p % out * l.stride + s - l.kernel / 2;
        return te::sum(te::guard(0 <= y && y < l.size && 0 <= x && x < l.size,
                                 in(c, y, x) * w(ob, s, c, r, o), 0.0f),
                       {s, c, r});
      });
  const te::Tensor result =
      te::compute("out", {l.out_channels / lanes, lanes, out * out},
                  [&](te::Var ob, te::Var o, te::Var p) { return sums(ob, p, o); });
  return te::program("layer", {in, w}, {result});
}

/// Output rows that are turned around together: their pixels fill vectors, or are all there are.
int64_t rows_together(const ConvLayer& layer, int64_t lanes) {
  const int64_t size = layer.out_size();
  for (int64_t rows = 1; rows < size; ++rows)
    if (size % rows == 0 && rows * size % lanes == 0) return rows;
  return size;
}

Schedule channels_as_lanes(const ConvLayer& layer, const ConvTile& tile,
                           const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  Schedule s(lower::to_blocks(conv_layer(layer, lanes)));
  const int64_t rows = rows_together(layer, lanes);
  const BlockRef sums = s.block("sums");
  const std::vector<LoopRef> l = s.loops(sums);  // ob, p, o, s, c, r
  const auto [ob0, ob1] = s.split<2>(l[0], {kOpen, tile.blocks});
  const auto [y0, y1, x0, x1] =
      s.split<4>(l[1], {kOpen, rows, layer.out_size() / tile.width, tile.width});
  s.reorder({ob0, y0, y1, x0, l[3], l[4], l[5], x1, ob1, l[2]});
  const BlockRef store = s.cache_write(sums, "sums", ir::ScopeKind::Register);
  s.reverse_compute_at(store, x0);
  const BlockRef out = s.block("out");
  s.reverse_compute_at(out, y0);
  const BlockRef init = s.decompose_reduction(sums, l[3]);
  s.vectorize(l[2]);
  s.unroll(ob1);
  s.unroll(x1);
  // Which taps fall into the border is then known at each pixel of the tile.
  s.unroll(l[3]);
  for (const BlockRef& b : {init, store}) {
    const std::vector<LoopRef> own = s.loops(b);
    s.vectorize(own.back());
    for (size_t i = 4; i + 1 < own.size(); ++i) s.unroll(own[i]);
  }
  schedule_turn(s, out, rows * layer.out_size(), lanes);
  return s;
}

te::Program pointwise(const ConvLayer& l, int64_t block) {
  const te::Tensor in = te::placeholder("in", ir::Elem::F32, {l.in_channels, l.size * l.size});
  const te::Tensor w =
      te::placeholder("w", ir::Elem::F32, {l.out_channels / block, l.in_channels, block});
  const te::Axis c = te::reduce_axis(l.in_channels, "c");
  const te::Tensor out = te::compute(
      "out", {l.out_channels / block, block, l.size * l.size},
      [&](te::Var ob, te::Var o, te::Var p) { return te::sum(in(c, p) * w(ob, c, o), c); });
  return te::program("pointwise", {in, w}, {out});
}

/// A tile of `block` channels by `vectors` of pixels.
Schedule pixels_as_lanes(const ConvLayer& layer, int64_t block, int64_t vectors,
                         const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  Schedule s(lower::to_blocks(pointwise(layer, block)));
  const BlockRef sums = s.block("out");
  const std::vector<LoopRef> l = s.loops(sums);  // ob, o, p, c
  const auto [p0, p1, p2] = s.split<3>(l[2], {kOpen, vectors, lanes});
  s.reorder({p0, l[0], l[3], l[1], p1, p2});
  const BlockRef store = s.cache_write(sums, "out", ir::ScopeKind::Register);
  s.reverse_compute_at(store, l[0]);
  const BlockRef init = s.decompose_reduction(sums, l[3]);
  s.vectorize(p2);
  s.unroll(p1);
  s.unroll(l[1]);
  const std::vector<LoopRef> zero = s.loops(init), copy = s.loops(store);  // …, o, pixels
  s.vectorize(zero.back());
  s.unroll(zero[zero.size() - 2]);
  s.unroll(zero[zero.size() - 3]);
  const auto [copy0, copy1] = s.split<2>(copy.back(), {kOpen, lanes});
  s.vectorize(copy1);
  s.unroll(copy0);
  s.unroll(copy[copy.size() - 2]);
  return s;
}

/// [oc / block, s, ic, r, block]
std::vector<float> packed(const ConvLayer& l, int64_t block, const std::vector<float>& w) {
  std::vector<float> out(w.size());
  const int64_t k = l.kernel;
  size_t from = 0;
  for (int64_t o = 0; o < l.out_channels; ++o)
    for (int64_t c = 0; c < l.in_channels; ++c)
      for (int64_t r = 0; r < k; ++r)
        for (int64_t s = 0; s < k; ++s)
          out[static_cast<size_t>((((o / block * k + s) * l.in_channels + c) * k + r) * block +
                                  o % block)] = w[from++];
  return out;
}

}  // namespace

std::vector<LayerPlan> plan_layer(const ConvLayer& layer, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32), pixels = layer.out_size() * layer.out_size();
  const auto pack = [layer](int64_t block) {
    return [layer, block](const std::vector<float>& w) { return packed(layer, block, w); };
  };
  std::vector<LayerPlan> out;
  for (const ConvTile& t : conv_tiles(layer, spec))
    out.push_back({"channels " + std::to_string(t.width) + "x" + std::to_string(t.blocks),
                   channels_as_lanes(layer, t, spec), pack(lanes)});
  if (layer.kernel > 1 || layer.stride > 1) return out;
  for (const int64_t vectors : {4, 2, 1}) {
    if (pixels % (vectors * lanes) != 0) continue;
    int64_t block = (spec.vector_registers - 1) / vectors - 1;
    while (layer.out_channels % block != 0) --block;
    out.push_back({"pixels " + std::to_string(block) + "x" + std::to_string(vectors),
                   pixels_as_lanes(layer, block, vectors, spec), pack(block)});
  }
  return out;
}

}  // namespace bench
