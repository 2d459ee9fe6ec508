// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's F(4x4, 3x3): tiles of 4x4 results out of patches of 6x6 elements, with
// 36 products where the sum over taps has 144.
//   patch   -> Bᵀ d B         weights -> G g Gᵀ (constants: before the run)
//   products = 36 products of matrices, tiles by input channels by output channels
//   results  = Aᵀ m A
// Equal over the reals. In f32 its error is some 10 times that of the plain sum, whose terms it
// adds with factors up to 8: about 1e-6 of the largest result for a few hundred channels.
#include "ir/build.h"
#include "ops/conv.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr, te::Tensor, te::Var;

constexpr int64_t kTile = 4, kPatch = 6, kTaps = 3;
constexpr double kB[kPatch][kPatch] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                       {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                       {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
constexpr double kA[kTile][kPatch] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
constexpr double kG[kPatch][kTaps] = {{1 / 4., 0, 0},
                                      {-1 / 6., -1 / 6., -1 / 6.},
                                      {-1 / 6., 1 / 6., -1 / 6.},
                                      {1 / 24., 1 / 12., 1 / 6.},
                                      {1 / 24., -1 / 12., 1 / 6.},
                                      {0, 0, 1}};

/// Row `i` of a matrix times the terms. Schedules unroll the loop over `i`, and one row is left.
template <size_t Rows, size_t Columns, class Term>
Expr row_times(const double (&matrix)[Rows][Columns], const Expr& i, Term&& term) {
  Expr out = 0.0f;
  for (size_t row = Rows; row-- > 0;) {
    std::optional<Expr> sum;
    for (size_t k = 0; k < Columns; ++k) {
      const double factor = matrix[row][k];
      if (factor == 0) continue;
      const Expr value = term(static_cast<int64_t>(k));
      const Expr product = factor == 1 ? value : value * static_cast<float>(factor);
      sum = sum ? *sum + product : product;
    }
    out = row + 1 == Rows ? *sum : te::select(i == static_cast<int64_t>(row), *sum, out);
  }
  return out;
}

}  // namespace

bool winograd_applies(const Call& call) {
  if (call.elem(0) != ir::Elem::F32 || call.rank(0) != 4 || call.attrs<ConvAttrs>().group != 1 ||
      !const_dims(call.shape(1)))
    return false;
  for (const Window& w : conv_windows(call))
    if (!ir::is_const(w.kernel, kTaps) || w.stride != 1 || w.dilation != 1 ||
        ir::const_int(w.out).value_or(0) < kTile)
      return false;
  return true;
}

std::vector<Tensor> define_winograd(const Call& call) {
  const std::vector<Window> windows = conv_windows(call);
  const Window &wy = windows[0], &wx = windows[1];
  const Tensor &x = call.in(0), &w = call.in(1);
  const Expr n = call.shape(0)[0], channels = call.shape(1)[1], features = call.shape(1)[0];
  const auto tiles = [](const Window& v) { return (*ir::const_int(v.out) + kTile - 1) / kTile; };
  const int64_t rows = tiles(wy), columns = tiles(wx);

  const Tensor input =
      te::compute("winograd_input", {n, channels, rows * kTile + 2, columns * kTile + 2},
                  [&](const Var& b, const Var& c, const Var& i, const Var& j) {
                    const Expr y = i - wy.pad_begin, z = j - wx.pad_begin;
                    return te::guard(0 <= y && y < Expr(wy.in) && 0 <= z && z < Expr(wx.in),
                                     x(b, c, y, z), 0.0f);
                  });
  const te::Shape patches = {kPatch, kPatch, n, channels, rows, columns};
  const Tensor down = te::compute("winograd_down", patches, [&](const std::vector<Var>& v) {
    return row_times(kB, v[0], [&](int64_t k) {
      return input(v[2], v[3], v[4] * kTile + k, v[5] * kTile + v[1]);
    });
  });
  const Tensor moved = te::compute("winograd_moved", patches, [&](const std::vector<Var>& v) {
    return row_times(kB, v[1], [&](int64_t m) { return down(v[0], m, v[2], v[3], v[4], v[5]); });
  });
  const Tensor taps =
      te::compute("winograd_taps", {kPatch, kTaps, channels, features},
                  [&](const Var& i, const Var& s, const Var& c, const Var& m) {
                    return row_times(kG, i, [&](int64_t r) { return w(m, c, r, s); });
                  });
  const Tensor weights =
      te::compute("winograd_weights", {kPatch, kPatch, channels, features},
                  [&](const Var& i, const Var& j, const Var& c, const Var& m) {
                    return row_times(kG, j, [&](int64_t s) { return taps(i, s, c, m); });
                  });
  const te::Axis c = te::reduce_axis(channels, "rc");
  const Tensor products = te::compute(
      "winograd_products", {kPatch, kPatch, n, features, rows, columns},
      [&](const std::vector<Var>& v) {
        return te::sum(moved(v[0], v[1], v[2], c, v[4], v[5]) * weights(v[0], v[1], c, v[3]), c);
      });
  const Tensor across = te::compute("winograd_across", {kTile, kPatch, n, features, rows, columns},
                                    [&](const std::vector<Var>& v) {
                                      return row_times(kA, v[0], [&](int64_t i) {
                                        return products(i, v[1], v[2], v[3], v[4], v[5]);
                                      });
                                    });
  const Tensor sums = te::compute("winograd", call.out_shape(), [&](const std::vector<Var>& v) {
    return row_times(kA, v[3] % kTile, [&](int64_t j) {
      return across(v[2] % kTile, j, v[0], v[1], v[2] / kTile, v[3] / kTile);
    });
  });
  return {conv_result(call, sums, call.elem(0))};
}

}  // namespace tilewright::ops
