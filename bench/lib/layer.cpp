// SPDX-License-Identifier: Apache-2.0
#include "layer.h"

#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// `in` with a border of zeros around each channel.
te::Tensor with_border(const te::Tensor& in, const ConvLayer& l) {
  const int64_t p = l.kernel / 2;
  return te::compute("pad", {l.in_channels, l.padded(), l.padded()},
                     [&](te::Var c, te::Var y, te::Var x) {
                       return te::guard(p <= y && y < l.size + p && p <= x && x < l.size + p,
                                        in(c, y - p, x - p), 0.0f);
                     });
}

te::Program conv_layer(const ConvLayer& l, int64_t lanes) {
  const int64_t out = l.out_size();
  const te::Tensor in = te::placeholder("in", ir::Elem::F32, {l.in_channels, l.size, l.size});
  const te::Tensor w = te::placeholder(
      "w", ir::Elem::F32, {l.out_channels / lanes, l.in_channels, l.kernel, l.kernel, lanes});
  const te::Tensor x_in = l.kernel > 1 ? with_border(in, l) : in;
  const te::Axis c = te::reduce_axis(l.in_channels, "c"), r = te::reduce_axis(l.kernel, "r"),
                 s = te::reduce_axis(l.kernel, "s");
  const te::Tensor sums = te::compute(
      "sums", {l.out_channels / lanes, out * out, lanes}, [&](te::Var ob, te::Var p, te::Var o) {
        return te::sum(x_in(c, p / out * l.stride + r, p % out * l.stride + s) * w(ob, c, r, s, o),
                       {c, r, s});
      });
  const te::Tensor result =
      te::compute("out", {l.out_channels / lanes, lanes, out * out},
                  [&](te::Var ob, te::Var o, te::Var p) { return sums(ob, p, o); });
  return te::program("layer", {in, w}, {result});
}

/// Lanes of the vectors that `extent` elements are cut into: whole ones first, then the powers of
/// two that are left, so that none needs a mask. 60 with 16 lanes: 48 elements by 16, 8 by 8, 4
/// by 4.
struct Piece {
  int64_t begin, lanes;
};
std::vector<Piece> pieces_of(int64_t extent, int64_t lanes) {
  std::vector<Piece> out;
  for (int64_t at = 0; at < extent; lanes /= 2) {
    if (extent - at < lanes) continue;
    out.push_back({at, lanes});
    at += (extent - at) / lanes * lanes;
  }
  return out;
}

std::vector<LoopRef> cut(Schedule& s, const LoopRef& loop, const std::vector<Piece>& pieces) {
  if (pieces.size() == 1) return {loop};
  std::vector<schedule::Number> points;
  for (size_t i = 1; i < pieces.size(); ++i) points.push_back(pieces[i].begin);
  return s.partition(loop, points);
}

/// Copies the rows of a channel between zeros.
void schedule_border(Schedule& s, const ConvLayer& layer, int64_t lanes) {
  const int64_t p = layer.kernel / 2;
  const std::vector<LoopRef> l = s.loops("pad");  // c, y, x
  const LoopRef inside = s.partition(l[2], {p, layer.size + p})[1];
  const std::vector<Piece> pieces = pieces_of(layer.size, lanes);
  const std::vector<LoopRef> parts = cut(s, inside, pieces);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [outer, inner] = s.split<2>(parts[i], {kOpen, pieces[i].lanes});
    s.vectorize(inner);
  }
}

/// Output rows that are turned around together: their pixels fill vectors, or are all there are.
int64_t rows_together(const ConvLayer& layer, int64_t lanes) {
  const int64_t size = layer.out_size();
  for (int64_t rows = 1; rows < size; ++rows)
    if (size % rows == 0 && rows * size % lanes == 0) return rows;
  return size;
}

/// The copy from lanes of channels to rows of pixels: pixels as lanes, one vector of channels
/// unrolled, so that the loads of a block are a transposition.
void schedule_turn(Schedule& s, const BlockRef& out, int64_t pixels, int64_t lanes) {
  const std::vector<LoopRef> l = s.loops(out);  // …, ob, o, p
  const size_t n = l.size();
  s.reorder({l[n - 1], l[n - 3], l[n - 2]});
  const std::vector<Piece> pieces = pieces_of(pixels, lanes);
  cut(s, l[n - 1], pieces);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<LoopRef> own =
        s.loops(i == 0 ? out.name : out.name + "_part" + std::to_string(i));
    const LoopRef &p = own[own.size() - 3], &ob = own[own.size() - 2], &o = own.back();
    const auto [p0, p1] = s.split<2>(p, {kOpen, pieces[i].lanes});
    s.reorder({p0, ob, o, p1});
    s.unroll(o);
    s.vectorize(p1);
  }
}

}  // namespace

Schedule schedule_layer(const ConvLayer& layer, const LayerTile& tile, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  Schedule s(lower::to_blocks(conv_layer(layer, lanes)));
  if (layer.kernel > 1) schedule_border(s, layer, lanes);
  const int64_t rows = rows_together(layer, lanes);
  const BlockRef sums = s.block("sums");
  const std::vector<LoopRef> l = s.loops(sums);  // ob, p, o, c, r, s
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
  s.unroll(l[5]);
  for (const BlockRef& b : {init, store}) {
    const std::vector<LoopRef> loops = s.loops(b);
    s.vectorize(loops.back());
    for (size_t i = 4; i + 1 < loops.size(); ++i) s.unroll(loops[i]);
  }
  schedule_turn(s, out, rows * layer.out_size(), lanes);
  return s;
}

}  // namespace bench
