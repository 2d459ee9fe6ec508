// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's F(4x4, 3x3): tiles of 4x4 results out of patches of 6x6 elements, with
// 36 products where the sum over taps has 144. F(2x2, 3x3) has 16 out of 36, and weights that take
// less than half the memory: for many channels of small maps.
//   patch   -> Bᵀ d B         weights -> G g Gᵀ (constants: before the run)
//   products = 36 products of matrices, tiles by input channels by output channels
//   results  = Aᵀ m A
// A third axis is one of more pictures: the products are summed along its window, too.
// Equal over the reals. In f32 the error of 4x4 is some 10 times that of the plain sum, whose terms
// it adds with factors up to 8: about 1e-6 of the largest result for a few hundred channels.
#include <span>

#include "ir/build.h"
#include "ops/conv.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr, te::Tensor, te::Var;

using Matrix = std::vector<std::vector<double>>;

constexpr int64_t kTaps = 3, kShortRow = 8;

struct Transforms {
  Matrix a, b, g;
  int64_t tile() const { return std::ssize(a); }
  int64_t patch() const { return std::ssize(b); }
};

const Transforms& of_4x4() {
  static const Transforms out = {
      .a = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
      .b = {{4, 0, -5, 0, 1, 0},
            {0, -4, -4, 1, 1, 0},
            {0, 4, -4, -1, 1, 0},
            {0, -2, -1, 2, 1, 0},
            {0, 2, -1, -2, 1, 0},
            {0, 4, 0, -5, 0, 1}},
      .g = {{1 / 4., 0, 0},
            {-1 / 6., -1 / 6., -1 / 6.},
            {-1 / 6., 1 / 6., -1 / 6.},
            {1 / 24., 1 / 12., 1 / 6.},
            {1 / 24., -1 / 12., 1 / 6.},
            {0, 0, 1}}};
  return out;
}

const Transforms& of_2x2() {
  static const Transforms out = {
      .a = {{1, 1, 1, 0}, {0, 1, -1, -1}},
      .b = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
      .g = {{1, 0, 0}, {1 / 2., 1 / 2., 1 / 2.}, {1 / 2., -1 / 2., 1 / 2.}, {0, 0, 1}}};
  return out;
}

/// Row `i` of a matrix times the terms. Schedules unroll the loop over `i`, and one row is left.
template <class Term>
Expr row_times(const Matrix& matrix, const Expr& i, Term&& term) {
  Expr out = 0.0f;
  for (size_t row = matrix.size(); row-- > 0;) {
    std::optional<Expr> sum;
    for (size_t k = 0; k < matrix[row].size(); ++k) {
      const double factor = matrix[row][k];
      if (factor == 0) continue;
      const Expr value = term(static_cast<int64_t>(k));
      const Expr product = factor == 1 ? value : value * static_cast<float>(factor);
      sum = sum ? *sum + product : product;
    }
    out = row + 1 == matrix.size() ? *sum : te::select(i == static_cast<int64_t>(row), *sum, out);
  }
  return out;
}

bool applies(const Transforms& t, const Call& call) {
  if (call.elem(0) != ir::Elem::F32 || call.attrs<ConvAttrs>().group != 1 ||
      (call.rank(0) != 4 && call.rank(0) != 5) || !const_dims(call.shape(1)))
    return false;
  const std::vector<Window> windows = conv_windows(call);
  for (const Window& w : std::span(windows).last(2))
    if (!ir::is_const(w.kernel, kTaps) || w.stride != 1 || w.dilation != 1 ||
        ir::const_int(w.out).value_or(t.tile()) < t.tile())
      return false;
  return true;
}

/// The pictures that are cut into tiles: those of a batch or, where a third axis lies before rows
/// and columns, its places, those of the padding too. Along that axis the sum is the plain one.
struct Pictures {
  std::optional<Window> depth;
  Expr in = 0, out = 0;  // how many
  Expr slices = 1;       // of each element of the batch

  Pictures(const Call& call, const std::vector<Window>& windows) {
    const Expr n = call.shape(0)[0];
    if (windows.size() == 2) {
      in = out = n;
      return;
    }
    depth = windows[0];
    slices =
        simplified((depth->out - 1) * depth->stride + (depth->kernel - 1) * depth->dilation + 1);
    in = n * slices;
    out = n * Expr(depth->out);
  }

  Expr exists(const Expr& b, const Expr& inside) const {
    if (!depth) return inside;
    const Expr z = b % slices - depth->pad_begin;
    return inside && 0 <= z && z < Expr(depth->in);
  }
  std::vector<Expr> element(const Expr& b, const Expr& c, const Expr& y, const Expr& x) const {
    if (!depth) return {b, c, y, x};
    return {b / slices, c, b % slices - depth->pad_begin, y, x};
  }
  /// The picture that number k along the axis of the window for picture `b` of the results is.
  Expr read_by(const Expr& b, const Expr& k) const {
    const Expr places = depth->out;
    return b / places * slices + b % places * depth->stride + k * depth->dilation;
  }
  Expr of_result(const std::vector<Var>& v) const {
    return depth ? v[0] * Expr(depth->out) + v[2] : Expr(v[0]);
  }
};

std::vector<Tensor> define(const Transforms& t, const Call& call) {
  const std::vector<Window> windows = conv_windows(call);
  const Window &wy = windows[windows.size() - 2], &wx = windows.back();
  const Pictures pictures(call, windows);
  const Tensor &x = call.in(0), &w = call.in(1);
  const Expr channels = call.shape(1)[1], features = call.shape(1)[0];
  const int64_t tile = t.tile(), patch = t.patch();
  const auto tiles = [&](const Window& v) { return simplified(ir::ceil_div(v.out, tile)); };
  const Dim tile_rows = tiles(wy), tile_columns = tiles(wx);
  const Expr rows = tile_rows, columns = tile_columns;

  const Tensor input = te::compute(
      "winograd_input", {pictures.in, channels, rows * tile + 2, columns * tile + 2},
      [&](const Var& b, const Var& c, const Var& i, const Var& j) {
        const Expr y = i - wy.pad_begin, z = j - wx.pad_begin;
        const Expr inside = 0 <= y && y < Expr(wy.in) && 0 <= z && z < Expr(wx.in);
        return te::guard(pictures.exists(b, inside), x.at(pictures.element(b, c, y, z)), 0.0f);
      });
  // Short rows of tiles are one: what is multiplied has more rows to share its weights. Where only
  // the run tells how long they are, they may be short.
  const bool one_row = ir::const_int(tile_columns).value_or(0) <= kShortRow;
  const auto with_tiles = [&](te::Shape shape) {
    if (one_row)
      shape.push_back(rows * columns);
    else
      shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  const auto same_tile = [](std::vector<Expr> indices, const std::vector<Var>& v) {
    indices.insert(indices.end(), v.begin() + 4, v.end());
    return indices;
  };
  const te::Shape patches = with_tiles({patch, patch, pictures.in, channels});
  const Tensor down = te::compute("winograd_down", patches, [&](const std::vector<Var>& v) {
    const Expr row = one_row ? v[4] / columns : Expr(v[4]);
    const Expr column = one_row ? v[4] % columns : Expr(v[5]);
    return row_times(t.b, v[0], [&](int64_t k) {
      return input(v[2], v[3], row * tile + k, column * tile + v[1]);
    });
  });
  const Tensor moved = te::compute("winograd_moved", patches, [&](const std::vector<Var>& v) {
    return row_times(t.b, v[1],
                     [&](int64_t m) { return down.at(same_tile({v[0], m, v[2], v[3]}, v)); });
  });
  const auto of_weights = [&](te::Shape shape) {
    if (pictures.depth) shape.push_back(Expr(pictures.depth->kernel));
    shape.insert(shape.end(), {channels, features});
    return shape;
  };
  // (…, [k,] channel, feature) of the weights, with row r and column s of the window.
  const auto tap = [&](const std::vector<Var>& v, const Expr& r, const Expr& column) {
    std::vector<Expr> at = {v.back(), v[v.size() - 2]};
    if (pictures.depth) at.push_back(v[2]);
    at.insert(at.end(), {r, column});
    return w.at(at);
  };
  const Tensor taps =
      te::compute("winograd_taps", of_weights({patch, kTaps}), [&](const std::vector<Var>& v) {
        return row_times(t.g, v[0], [&](int64_t r) { return tap(v, r, v[1]); });
      });
  const Tensor weights =
      te::compute("winograd_weights", of_weights({patch, patch}), [&](const std::vector<Var>& v) {
        return row_times(t.g, v[1], [&](int64_t k) {
          std::vector<Expr> at(v.begin(), v.end());
          at[1] = k;
          return taps.at(at);
        });
      });
  std::vector<te::Axis> summed;
  if (pictures.depth) summed.push_back(te::reduce_axis(Expr(pictures.depth->kernel), "rd"));
  summed.push_back(te::reduce_axis(channels, "rc"));
  const Tensor products = te::compute(
      "winograd_products", with_tiles({patch, patch, pictures.out, features}),
      [&](const std::vector<Var>& v) {
        const Expr c = summed.back();
        std::vector<Expr> of = {v[0], v[1]};
        if (pictures.depth) of.push_back(summed[0]);
        of.insert(of.end(), {c, v[3]});
        const Expr picture = pictures.depth ? pictures.read_by(v[2], summed[0]) : Expr(v[2]);
        return te::sum(moved.at(same_tile({v[0], v[1], picture, c}, v)) * weights.at(of), summed);
      });
  const Tensor across = te::compute(
      "winograd_across", with_tiles({tile, patch, pictures.out, features}),
      [&](const std::vector<Var>& v) {
        return row_times(
            t.a, v[0], [&](int64_t i) { return products.at(same_tile({i, v[1], v[2], v[3]}, v)); });
      });
  const Tensor sums = te::compute("winograd", call.out_shape(), [&](const std::vector<Var>& v) {
    const Expr y = v[v.size() - 2], z = v.back(), row = y / tile, column = z / tile;
    return row_times(t.a, z % tile, [&](int64_t j) {
      std::vector<Expr> at = {y % tile, j, pictures.of_result(v), v[1]};
      if (one_row)
        at.push_back(row * columns + column);
      else
        at.insert(at.end(), {row, column});
      return across.at(at);
    });
  });
  return {conv_result(call, sums, call.elem(0))};
}

}  // namespace

graph::Algorithm winograd() {
  return {.name = "winograd",
          .define = [](const Call& call) { return define(of_4x4(), call); },
          .applies = [](const Call& call) { return applies(of_4x4(), call); }};
}

graph::Algorithm winograd_2x2() {
  return {.name = "winograd_2x2",
          .define = [](const Call& call) { return define(of_2x2(), call); },
          .applies = [](const Call& call) { return applies(of_2x2(), call); }};
}

}  // namespace tilewright::ops
