// SPDX-License-Identifier: Apache-2.0
// Winograd's F(4x4, 3x3): tiles of 4x4 outputs out of patches of 6x6 inputs, with 36 products where
// the sum over taps has 144.
//   patch -> Bᵀ d B      tiles of a row as lanes
//   36 products of matrices, tiles by input channels by output channels: channels as lanes
//   Aᵀ m A -> sums       channels as lanes, then turned around
#include <array>
#include <bit>
#include <string>

#include "layer.h"
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

constexpr int kTile = 4, kPatch = 6;
constexpr double kB[kPatch][kPatch] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                       {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                       {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
constexpr double kA[kTile][kPatch] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
constexpr double kG[kPatch][3] = {{1 / 4., 0, 0},
                                  {-1 / 6., -1 / 6., -1 / 6.},
                                  {-1 / 6., 1 / 6., -1 / 6.},
                                  {1 / 24., 1 / 12., 1 / 6.},
                                  {1 / 24., -1 / 12., 1 / 6.},
                                  {0, 0, 1}};

/// The product of row `i` of a matrix and the terms; `i` is a constant once its loop is unrolled.
template <size_t Rows, class Term>
te::Expr row_times(const double (&matrix)[Rows][kPatch], const te::Expr& i, Term&& term) {
  te::Expr out = 0.0f;
  for (size_t row = Rows; row-- > 0;) {
    te::Expr sum = 0.0f;
    bool first = true;
    for (int k = 0; k < kPatch; ++k) {
      const double factor = matrix[row][k];
      if (factor == 0) continue;
      const te::Expr product = factor == 1 ? term(k) : term(k) * static_cast<float>(factor);
      sum = first ? product : sum + product;
      first = false;
    }
    out = row + 1 == Rows ? sum : te::select(i == static_cast<int64_t>(row), sum, out);
  }
  return out;
}

struct Sizes {
  int64_t lanes;  // output channels
  int64_t tiles;  // in a row, and rows
  int64_t wide;   // tiles of a row, as whole vectors
  int64_t tile_lanes;
};

Sizes sizes_of(const ConvLayer& l, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32), tiles = (l.size + kTile - 1) / kTile;
  const auto up = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tiles)));
  const int64_t tile_lanes = std::min(lanes, up);
  return {lanes, tiles, (tiles + tile_lanes - 1) / tile_lanes * tile_lanes, tile_lanes};
}

te::Program winograd(const ConvLayer& l, const Sizes& z) {
  using te::Expr, te::Var;
  const int64_t n = l.size;
  const te::Tensor in = te::placeholder("in", ir::Elem::F32, {l.in_channels, n, n});
  const te::Tensor w = te::placeholder(
      "w", ir::Elem::F32, {kPatch, kPatch, l.out_channels / z.lanes, l.in_channels, z.lanes});
  const te::Shape patches = {kPatch, kPatch, l.in_channels, z.tiles, z.wide};
  const te::Tensor patch = te::compute("patch", patches, [&](Var k, Var m, Var c, Var ty, Var tx) {
    const Expr y = ty * kTile + k - 1, x = tx * kTile + m - 1;
    return te::guard(0 <= y && y < n && 0 <= x && x < n, in(c, y, x), 0.0f);
  });
  const te::Tensor down = te::compute("down", patches, [&](Var i, Var m, Var c, Var ty, Var tx) {
    return row_times(kB, i, [&](int k) { return patch(k, m, c, ty, tx); });
  });
  const te::Tensor moved = te::compute("moved", patches, [&](Var i, Var j, Var c, Var ty, Var tx) {
    return row_times(kB, j, [&](int m) { return down(i, m, c, ty, tx); });
  });
  const te::Axis c = te::reduce_axis(l.in_channels, "c");
  const te::Tensor products =
      te::compute("products", {kPatch, kPatch, l.out_channels / z.lanes, z.tiles, z.tiles, z.lanes},
                  [&](Var i, Var j, Var ob, Var ty, Var tx, Var o) {
                    return te::sum(moved(i, j, c, ty, tx) * w(i, j, ob, c, o), c);
                  });
  const te::Tensor across =
      te::compute("across", {kTile, kPatch, l.out_channels / z.lanes, z.tiles, z.tiles, z.lanes},
                  [&](Var a, Var j, Var ob, Var ty, Var tx, Var o) {
                    return row_times(kA, a, [&](int i) { return products(i, j, ob, ty, tx, o); });
                  });
  const te::Tensor sums = te::compute(
      "sums", {l.out_channels / z.lanes, z.tiles * kTile, z.tiles * kTile, z.lanes},
      [&](Var ob, Var y, Var x, Var o) {
        return row_times(kA, x % kTile,
                         [&](int j) { return across(y % kTile, j, ob, y / kTile, x / kTile, o); });
      });
  const te::Tensor out =
      te::compute("out", {l.out_channels / z.lanes, z.lanes, n, n},
                  [&](Var ob, Var o, Var y, Var x) { return sums(ob, y, x, o); });
  return te::program("winograd", {in, w}, {out});
}

/// The innermost loop as lanes, the `unrolled` ones around it unrolled.
void unroll_lanes(Schedule& s, const BlockRef& block, size_t unrolled) {
  const std::vector<LoopRef> l = s.loops(block);
  s.vectorize(l.back());
  for (size_t i = l.size() - 1 - unrolled; i + 1 < l.size(); ++i) s.unroll(l[i]);
}

/// Patches of a row of tiles, from the input to what is multiplied: all in registers.
void schedule_patches(Schedule& s, const Sizes& z) {
  const BlockRef moved = s.block("moved"), down = s.block("down"), patch = s.block("patch");
  const std::vector<LoopRef> l = s.loops(moved);  // i, j, c, ty, tx
  const auto [tx0, tx1] = s.split<2>(l[4], {kOpen, z.tile_lanes});
  s.reorder({l[2], l[3], tx0, l[0], l[1], tx1});
  for (const BlockRef& b : {down, patch}) {
    s.compute_at(b, tx0);
    s.set_scope(b, b.name, ir::ScopeKind::Register);
  }
  for (const LoopRef& loop : {l[0], l[1]}) s.unroll(loop);
  s.vectorize(tx1);
  // Around them i, m, and single iterations of c and ty.
  for (const BlockRef& b : {down, patch}) unroll_lanes(s, b, 4);
}

void schedule_products(Schedule& s, int64_t rows, int64_t width, int64_t blocks) {
  const BlockRef products = s.block("products");
  const std::vector<LoopRef> l = s.loops(products);  // i, j, ob, ty, tx, o, c
  const auto [ob0, ob1] = s.split<2>(l[2], {kOpen, blocks});
  const auto [ty0, ty1] = s.split<2>(l[3], {kOpen, rows});
  const auto [tx0, tx1] = s.split<2>(l[4], {kOpen, width});
  s.reorder({l[0], l[1], ob0, ty0, tx0, l[6], ty1, tx1, ob1, l[5]});
  const BlockRef store = s.cache_write(products, "products", ir::ScopeKind::Register);
  s.reverse_compute_at(store, tx0);
  const BlockRef init = s.decompose_reduction(products, l[6]);
  s.vectorize(l[5]);
  for (const LoopRef& loop : {ty1, tx1, ob1}) s.unroll(loop);
  unroll_lanes(s, init, 3);
  const std::vector<LoopRef> own = s.loops(store);
  s.vectorize(own.back());
  for (size_t i = 5; i + 1 < own.size(); ++i) s.unroll(own[i]);
}

/// Rows of tiles from the products to the output.
void schedule_results(Schedule& s, const ConvLayer& layer, const Sizes& z) {
  const BlockRef sums = s.block("sums"), across = s.block("across"), out = s.block("out");
  const std::vector<LoopRef> l = s.loops(sums);  // ob, y, x, o
  const auto [ty, a] = s.split<2>(l[1], {kOpen, kTile});
  const auto [tx, b] = s.split<2>(l[2], {kOpen, kTile});
  s.reorder({l[0], ty, tx, a, b, l[3]});
  s.compute_at(across, tx);
  s.set_scope(across, "across", ir::ScopeKind::Register);
  s.reverse_compute_at(out, ty);
  s.vectorize(l[3]);
  s.unroll(a);
  s.unroll(b);
  const std::vector<LoopRef> own = s.loops(across);  // ob, ty, tx, a, j, …, o
  s.vectorize(own.back());
  for (size_t i = 3; i + 1 < own.size(); ++i) s.unroll(own[i]);
  const std::vector<LoopRef> copy = s.loops(out);  // …, ob, o, y, x
  const size_t n = copy.size();
  s.reorder({copy[n - 2], copy[n - 4], copy[n - 3]});
  schedule_turn(s, out, layer.size, z.lanes);
}

Schedule schedule_winograd(const ConvLayer& layer, const Sizes& z, int64_t rows, int64_t blocks) {
  Schedule s(lower::to_blocks(winograd(layer, z)));
  schedule_patches(s, z);
  schedule_products(s, rows, z.tiles, blocks);
  schedule_results(s, layer, z);
  return s;
}

/// [i, j, oc / lanes, ic, lanes], each G g Gᵀ.
std::vector<float> packed(const ConvLayer& l, int64_t lanes, const std::vector<float>& w) {
  std::vector<float> out(static_cast<size_t>(kPatch * kPatch * l.out_channels * l.in_channels));
  for (int64_t o = 0; o < l.out_channels; ++o)
    for (int64_t c = 0; c < l.in_channels; ++c) {
      const float* taps = &w[static_cast<size_t>((o * l.in_channels + c) * 9)];
      for (int64_t i = 0; i < kPatch; ++i)
        for (int64_t j = 0; j < kPatch; ++j) {
          double sum = 0;
          for (int r = 0; r < 3; ++r)
            for (int s = 0; s < 3; ++s) sum += kG[i][r] * kG[j][s] * taps[r * 3 + s];
          const int64_t at =
              (((i * kPatch + j) * (l.out_channels / lanes) + o / lanes) * l.in_channels + c) *
                  lanes +
              o % lanes;
          out[static_cast<size_t>(at)] = static_cast<float>(sum);
        }
    }
  return out;
}

}  // namespace

std::vector<LayerPlan> plan_winograd(const ConvLayer& layer, const ir::TargetSpec& spec) {
  const Sizes z = sizes_of(layer, spec);
  // With fewer tiles the transformed weights are read for too few products.
  if (layer.kernel != 3 || layer.stride != 1 || z.tiles < 4) return {};
  // As many rows of tiles, then vectors of channels, as sums fit the registers.
  const int64_t room = spec.vector_registers - 4;
  int64_t rows = std::max<int64_t>(1, std::min(z.tiles, room / z.tiles));
  while (z.tiles % rows != 0) --rows;
  const int64_t blocks = rows * z.tiles * 2 <= room ? 2 : 1;
  if (rows * z.tiles > room) return {};
  const auto pack = [layer, z](const std::vector<float>& w) { return packed(layer, z.lanes, w); };
  return {{"winograd " + std::to_string(rows) + "x" + std::to_string(z.tiles) + "x" +
               std::to_string(blocks),
           schedule_winograd(layer, z, rows, blocks), pack, 1e-5}};
}

}  // namespace bench
