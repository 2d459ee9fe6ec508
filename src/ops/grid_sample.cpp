// SPDX-License-Identifier: Apache-2.0
// GridSample over any number of spatial dimensions, and AffineGrid, which makes its grids.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

enum class SampleMode : uint8_t { Nearest, Linear, Cubic };
enum class Outside : uint8_t { Zeros, Border, Reflection };

struct GridSampleAttrs {
  SampleMode mode = SampleMode::Linear;
  Outside outside = Outside::Zeros;
  bool align_corners = false;
  static constexpr auto fields =
      std::tuple{field("mode", &GridSampleAttrs::mode), field("outside", &GridSampleAttrs::outside),
                 field("align_corners", &GridSampleAttrs::align_corners)};
};

std::vector<Type> infer(const Call& call) {
  need_min_rank(call, 0, 3);
  need_float(call, 1);
  need_rank(call, 1, call.rank(0));
  const Shape &x = call.shape(0), &grid = call.shape(1);
  call.equal(x[0], grid[0], "the batches of the input and of the grid");
  call.equal(grid.back(), Dim(call.rank(0) - 2), "the grid's coordinates and the dimensions");
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return {tensor_of(call.elem(0), shape)};
}

/// Reflects x at the borders until it lies between them.
Expr reflected(const Expr& x, const Expr& low, const Expr& high) {
  const Expr range = high - low, far = te::abs(x - low);
  const Expr turns = te::floor(far / range), rest = far - turns * range;
  const Expr even = te::floor(turns / 2) * 2 == turns;
  return te::select(low <= x && x <= high, x, te::select(even, low + rest, high - rest));
}

/// A normalised coordinate as a position along a dimension, moved inside by the rule for it.
Expr position(const GridSampleAttrs& attrs, const Expr& coordinate, const Dim& extent) {
  const Expr size = te::cast(coordinate.elem(), Expr(extent));
  Expr x =
      attrs.align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  if (attrs.mode == SampleMode::Nearest) x = te::round(x);
  if (attrs.outside == Outside::Border) {
    // Cubic taps that lie inside weigh an outer position as it is. Further out than this all of
    // them are the border.
    const double beyond = attrs.mode == SampleMode::Cubic ? 3 : 0;
    return te::max(te::min(x, size + (beyond - 1)), te::cast(x.elem(), -beyond));
  }
  if (attrs.outside == Outside::Reflection) {
    const double low = attrs.align_corners ? 0 : -0.5;
    return reflected(x, te::cast(x.elem(), low), size - (attrs.align_corners ? 1.0 : 0.5));
  }
  return x;
}

/// The index that an index outside is replaced by.
Expr inside(const GridSampleAttrs& attrs, const Expr& i, const Dim& extent) {
  const Expr n = extent;
  if (attrs.outside == Outside::Reflection) {
    const Expr turn = attrs.align_corners ? 2 * (n - 1) : 2 * n;
    const Expr at = i % turn;  // 0 for a single element
    return te::max(te::select(at < n, at, (attrs.align_corners ? turn : turn - 1) - at), 0);
  }
  return te::max(te::min(i, n - 1), 0);
}

/// Weights of the taps around a position that lies `t` behind tap 0 (linear) or 1 (cubic).
std::vector<Expr> weights(SampleMode mode, const Expr& t) {
  if (mode == SampleMode::Linear) return {1 - t, t};
  constexpr double a = -0.75;
  const auto near = [&](const Expr& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [&](const Expr& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

std::vector<te::Tensor> define(const Call& call) {
  const GridSampleAttrs& attrs = call.attrs<GridSampleAttrs>();
  const te::Tensor& x = call.in(0);
  const size_t dims = call.shape(0).size() - 2;
  const ir::Elem elem = x.elem();
  const ir::Elem real = wide(call.elem(1));
  const ir::Elem acc = elem == ir::Elem::F64 ? elem : ir::Elem::F32;

  // Where each output lies along dimension d; the grid lists the last dimension first.
  std::vector<te::Tensor> where;
  te::Shape points = call.out_shape();
  points.erase(points.begin() + 1);
  for (size_t d = 0; d < dims; ++d)
    where.push_back(te::compute(str("at", d), points, [&](const std::vector<te::Var>& point) {
      At at = indices_of(point);
      at.push_back(Expr(static_cast<int64_t>(dims - 1 - d)));
      return position(attrs, as(real, call.in(1).at(at)), call.shape(0)[d + 2]);
    }));

  return {te::compute("grid_sample", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    At point = indices_of(axes);
    point.erase(point.begin() + 1);
    std::vector<Expr> first;
    std::vector<std::vector<Expr>> weight;
    for (size_t d = 0; d < dims; ++d) {
      const Expr p = where[d].at(point), low = te::floor(p);
      first.push_back(te::cast(ir::Elem::I64, low));
      if (attrs.mode == SampleMode::Nearest) continue;
      if (attrs.mode == SampleMode::Cubic) first.back() = first.back() - 1;
      weight.push_back(weights(attrs.mode, as(acc, p - low)));
    }
    const auto pixel = [&](const std::vector<Expr>& index) {
      At at = {axes[0], axes[1]};
      Expr valid = true;
      for (size_t d = 0; d < dims; ++d) {
        const Dim& extent = call.shape(0)[d + 2];
        valid = valid && 0 <= index[d] && index[d] < Expr(extent);
        at.push_back(attrs.outside == Outside::Zeros ? index[d] : inside(attrs, index[d], extent));
      }
      return attrs.outside == Outside::Zeros ? te::guard(valid, x.at(at), 0) : x.at(at);
    };
    if (attrs.mode == SampleMode::Nearest) return pixel(first);
    // All combinations of taps.
    const size_t taps = weight[0].size();
    size_t count = 1;
    for (size_t d = 0; d < dims; ++d) count *= taps;
    Expr sum = te::cast(acc, 0);
    for (size_t c = 0; c < count; ++c) {
      std::vector<Expr> index = first;
      Expr factor = te::cast(acc, 1);
      size_t rest = c;
      for (size_t d = dims; d-- > 0; rest /= taps) {
        index[d] = index[d] + static_cast<int64_t>(rest % taps);
        factor = factor * weight[d][rest % taps];
      }
      sum = sum + factor * as(acc, pixel(index));
    }
    return as(elem, sum);
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  GridSampleAttrs attrs{.align_corners = n.attr_int("align_corners", 0) != 0};
  const std::string mode = n.attr_string("mode", "linear");
  const std::string outside = n.attr_string("padding_mode", "zeros");
  if (mode == "nearest")
    attrs.mode = SampleMode::Nearest;
  else if (mode == "cubic" || mode == "bicubic")
    attrs.mode = SampleMode::Cubic;
  else if (mode != "linear" && mode != "bilinear")
    n.refuse("ops.grid_sample.mode", str("mode is \"", mode, "\""), "use nearest, linear or cubic");
  if (outside == "border")
    attrs.outside = Outside::Border;
  else if (outside == "reflection")
    attrs.outside = Outside::Reflection;
  else if (outside != "zeros")
    n.refuse("ops.grid_sample.mode", str("padding_mode is \"", outside, "\""),
             "use zeros, border or reflection");
  g.output(n, g.call(op("grid_sample"), attrs, {n.need(0), n.need(1)}));
}

struct AffineGridAttrs {
  bool align_corners = false;
  static constexpr auto fields =
      std::tuple{field("align_corners", &AffineGridAttrs::align_corners)};
};

std::vector<Type> infer_affine(const Call& call) {
  need_float(call, 0);
  need_rank(call, 0, 3);
  const std::vector<Dim> size = call.elements(1);
  if (size.size() != 4 && size.size() != 5)
    call.refuse("ops.affine_grid.size", str("the size has ", size.size(), " elements"),
                "give N, C and two or three spatial extents");
  const int64_t dims = std::ssize(size) - 2;
  call.equal(call.shape(0)[1], Dim(dims), "rows of theta and the dimensions of the size");
  call.equal(call.shape(0)[2], Dim(dims + 1), "columns of theta and the dimensions of the size");
  Shape shape = {call.equal(call.shape(0)[0], size[0], "the batches of theta and of the size")};
  for (size_t d = 2; d < size.size(); ++d) shape.push_back(call.extent(size[d]));
  shape.push_back(Dim(dims));
  return {tensor_of(call.elem(0), shape)};
}

/// theta times (x, y, …, 1) of each place, as the last dimension comes first.
std::vector<te::Tensor> define_affine(const Call& call) {
  const bool align = call.attrs<AffineGridAttrs>().align_corners;
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const Shape& shape = call.out(0).shape;
  const size_t dims = shape.size() - 2;
  return {te::compute("affine_grid", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    const Expr n = axes[0], row = axes.back();
    const auto theta = [&](size_t column) {
      return as(acc, call.in(0)(n, row, static_cast<int64_t>(column)));
    };
    Expr sum = theta(dims);
    for (size_t d = 0; d < dims; ++d) {
      const Expr extent = shape[d + 1], i = te::cast(acc, axes[d + 1]);
      const Expr size = te::cast(acc, extent);
      const Expr place = align ? te::select(extent == 1, te::cast(acc, -1), 2 * i / (size - 1) - 1)
                               : (2 * i + 1) / size - 1;
      sum = sum + theta(dims - 1 - d) * place;
    }
    return as(elem, sum);
  })};
}

void affine_from_onnx(const OnnxNode& n, Builder& g) {
  const AffineGridAttrs attrs{.align_corners = n.attr_int("align_corners", 0) != 0};
  g.output(n, g.call(op("affine_grid"), attrs, {n.need(0), n.need(1)}));
}

std::vector<OpDef> make_ops() {
  return {
      define_op<AffineGridAttrs>(
          {.name = "affine_grid",
           .fusion = FusionKind::Injective,
           .infer = infer_affine,
           .algorithms = {{.name = "direct", .define = define_affine}},
           .onnx = {{.op = "AffineGrid", .from = 20, .rule = affine_from_onnx}}}),
      define_op<GridSampleAttrs>({.name = "grid_sample",
                                  .fusion = FusionKind::Reduction,
                                  .infer = infer,
                                  .algorithms = {{.name = "taps", .define = define}},
                                  .onnx = {{.op = "GridSample", .from = 16, .rule = from_onnx}}})};
}

}  // namespace

std::span<const OpDef> grid_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
