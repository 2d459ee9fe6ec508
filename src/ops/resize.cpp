// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: one dimension after the other, each by a table of positions and weights.
#include <algorithm>
#include <cmath>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

constexpr ir::Elem kF64 = ir::Elem::F64;

/// One dimension that changes. Expressions are of one float type: f64 for interpolation, f32 to
/// find the nearest element, since all depends on the last bit there, and PyTorch and ONNX Runtime
/// compute it so: 3 / 0.6 is 5 in f32, and less in f64, where 0.6 is what it was in f32.
struct Axis {
  size_t d;
  Dim in, out;
  Expr scale, length;  // length: of the result before it was rounded down
  Expr start, end;     // of the region of interest
  ir::Elem real() const { return scale.elem(); }
};

bool is_resized(const Call& call, size_t d) {
  const ResizeAttrs& attrs = call.attrs<ResizeAttrs>();
  if (attrs.coordinates == Coordinates::CropAndResize) return true;
  if (!attrs.axes.empty() &&
      std::find(attrs.axes.begin(), attrs.axes.end(), static_cast<int64_t>(d)) == attrs.axes.end())
    return false;
  if (!attrs.scales.empty()) return attrs.scales[d] != 1;
  return call.has(2) || !same(call.element(1, static_cast<int64_t>(d)), call.shape(0)[d]);
}

std::vector<Axis> axes_of(const Call& call, ir::Elem real) {
  const ResizeAttrs& attrs = call.attrs<ResizeAttrs>();
  std::vector<Axis> out;
  for (size_t d = 0; d < call.shape(0).size(); ++d) {
    if (!is_resized(call, d)) continue;
    const Dim in = call.shape(0)[d], size = call.out(0).shape[d];
    const Expr width = te::cast(real, Expr(in)), whole = te::cast(real, Expr(size));
    Axis axis{d, in, size, whole / width, whole, te::cast(real, 0), te::cast(real, 1)};
    if (!attrs.scales.empty())
      axis.scale = te::cast(real, attrs.scales[d]);
    else if (call.has(2))
      axis.scale = as(real, call.in(2)(static_cast<int64_t>(d)));
    if (!attrs.scales.empty() || call.has(2)) axis.length = axis.scale * width;
    if (call.has(3)) {
      const auto j = std::find(attrs.axes.begin(), attrs.axes.end(), static_cast<int64_t>(d));
      const int64_t count = attrs.axes.empty() ? call.rank(0) : std::ssize(attrs.axes);
      const int64_t at = attrs.axes.empty() ? static_cast<int64_t>(d) : j - attrs.axes.begin();
      if (at < count) {
        axis.start = as(real, call.in(3)(at));
        axis.end = as(real, call.in(3)(at + count));
      }
    }
    out.push_back(std::move(axis));
  }
  return out;
}

std::vector<Type> infer(const Call& call) {
  need_rank(call, 1, 1);
  Shape shape;
  for (size_t d = 0; d < call.shape(0).size(); ++d)
    shape.push_back(is_resized(call, d) ? call.extent(call.element(1, static_cast<int64_t>(d)))
                                        : call.shape(0)[d]);
  if (call.has(3)) need_float(call, 3);
  return {tensor_of(call.elem(0), shape)};
}

std::vector<Type> infer_interpolated(const Call& call) {
  need_number(call, 0);
  return infer(call);
}

/// Where output o lies in the input.
Expr source(const Axis& a, const ResizeAttrs& attrs, const Expr& o) {
  const auto real = [&](const Expr& x) { return te::cast(a.real(), x); };
  const Expr x = real(o), width = real(Expr(a.in)), whole = real(Expr(a.out));
  const Expr half = (x + 0.5) / a.scale - 0.5;
  switch (attrs.coordinates) {
    case Coordinates::HalfPixel: return half;
    case Coordinates::PytorchHalfPixel: return te::select(whole == 1, real(0), half);
    case Coordinates::HalfPixelSymmetric:
      return width / 2 * (1 - whole / a.length) + (x + 0.5) / a.scale - 0.5;
    case Coordinates::HalfPixelForNearest: return (x + 0.5) / a.scale;
    case Coordinates::Asymmetric: return x / a.scale;
    case Coordinates::AlignCorners: {
      const Expr length =
          attrs.fractional_corners ? te::select(a.scale < 1, a.length, whole) : whole;
      return te::select(length == 1, real(0), x * (width - 1) / (length - 1));
    }
    case Coordinates::CropAndResize: {
      const Expr region = (a.end - a.start) * (width - 1);
      return te::select(whole == 1, region / 2, x * region / (whole - 1)) + a.start * (width - 1);
    }
  }
  return half;
}

Expr clamped(const Expr& i, const Dim& extent) { return te::max(te::min(i, Expr(extent - 1)), 0); }

/// Which element a position takes. What should lie in the middle of two rarely does to the last
/// bit.
Expr nearest(const Expr& x, NearestMode mode) {
  const Expr below = te::floor(x), rest = x - below;
  constexpr double kMiddle = 1e-5;
  switch (mode) {
    case NearestMode::Floor: return below;
    case NearestMode::Ceil: return te::ceil(x);
    case NearestMode::RoundPreferFloor: return te::select(rest <= 0.5 + kMiddle, below, below + 1);
    case NearestMode::RoundPreferCeil: return te::select(rest < 0.5 - kMiddle, below, below + 1);
  }
  return x;
}

/// Positions outside of the input give the extrapolation value, in the mode that asks for it.
te::Tensor extrapolated(const Call& call, const te::Tensor& t, const std::vector<Axis>& axes) {
  const ResizeAttrs& attrs = call.attrs<ResizeAttrs>();
  if (attrs.coordinates != Coordinates::CropAndResize) return t;
  return te::compute("extrapolated", shape_of(t), [&](const std::vector<te::Var>& point) {
    Expr outside = false;
    for (const Axis& a : axes) {
      const Expr x = source(a, attrs, point[a.d]);
      outside = outside || x < 0 || x > te::cast(a.real(), Expr(a.in - 1));
    }
    return te::select(outside, te::cast(t.elem(), attrs.extrapolation), t.at(indices_of(point)));
  });
}

/// Which element output o takes when no table is needed: a whole scale repeats each element, and
/// one over a whole number takes every so many. Nothing for other scales.
std::optional<Expr> evenly(const ResizeAttrs& attrs, const Axis& a, const Expr& o) {
  if (attrs.scales.empty()) return std::nullopt;
  const bool corners = attrs.coordinates == Coordinates::Asymmetric;
  if (!corners && attrs.coordinates != Coordinates::HalfPixel) return std::nullopt;
  const double scale = attrs.scales[a.d], step = 1 / scale;
  if (scale >= 1 && scale == std::floor(scale)) {
    const bool rounds = attrs.nearest == NearestMode::RoundPreferFloor ||
                        attrs.nearest == NearestMode::RoundPreferCeil;
    if (corners ? attrs.nearest != NearestMode::Floor : !rounds) return std::nullopt;
    return o / static_cast<int64_t>(scale);
  }
  if (scale > 1 || step != std::floor(step)) return std::nullopt;
  const auto whole = static_cast<int64_t>(step);
  if (corners) return o * whole;
  // The middle of `whole` elements: that between two, when they are even, is rounded.
  const bool up =
      attrs.nearest == NearestMode::RoundPreferCeil || attrs.nearest == NearestMode::Ceil;
  return o * whole + (up ? whole / 2 : (whole - 1) / 2);
}

std::vector<te::Tensor> define_nearest(const Call& call) {
  const ResizeAttrs& attrs = call.attrs<ResizeAttrs>();
  const std::vector<Axis> axes = axes_of(call, ir::Elem::F32);
  std::vector<std::optional<te::Tensor>> tables(axes.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    if (evenly(attrs, axes[k], 0)) continue;
    tables[k] = te::compute(str("from", axes[k].d), {Expr(axes[k].out)}, [&](const te::Var& o) {
      const Expr x = nearest(source(axes[k], attrs, o), attrs.nearest);
      return clamped(te::cast(ir::Elem::I64, x), axes[k].in);
    });
  }
  const te::Tensor y =
      te::compute("resize", call.out_shape(), [&](const std::vector<te::Var>& point) {
        At at = indices_of(point);
        for (size_t k = 0; k < axes.size(); ++k) {
          Expr& i = at[axes[k].d];
          i = tables[k] ? (*tables[k])(i) : *evenly(attrs, axes[k], i);
        }
        return call.in(0).at(at);
      });
  return {extrapolated(call, y, axes)};
}

/// The weight of an input at distance x, in units of the input.
Expr kernel(const ResizeAttrs& attrs, const Expr& distance) {
  const Expr x = te::abs(distance);
  if (attrs.mode == ResizeMode::Linear) return te::max(1 - x, te::cast(kF64, 0));
  const double a = attrs.cubic_a;
  const Expr near = ((a + 2) * x - (a + 3)) * x * x + 1;
  const Expr far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return te::select(x <= 1, near, te::select(x < 2, far, te::cast(kF64, 0)));
}

/// One dimension resized: sum over the taps of weight[o, tap] * t[…, first[o] + tap, …].
te::Tensor interpolated(const ResizeAttrs& attrs, const te::Tensor& t, const Axis& a) {
  const int64_t reach = attrs.mode == ResizeMode::Linear ? 1 : 2;  // of the kernel
  // Antialiased, the kernel is as much wider as the result is smaller.
  const Dim half = attrs.antialias
                       ? simplified(reach * (ir::ceil_div(a.in, ir::max(a.out, Dim(1))) + 1))
                       : Dim(reach);
  const Dim taps = simplified(half * 2);
  const Expr squeeze = attrs.antialias ? te::min(a.scale, te::cast(kF64, 1)) : te::cast(kF64, 1);

  const te::Tensor first = te::compute(str("first", a.d), {Expr(a.out)}, [&](const te::Var& o) {
    return te::cast(ir::Elem::I64, te::floor(source(a, attrs, o))) - half + 1;
  });
  const te::Tensor raw = te::compute(
      str("raw", a.d), {Expr(a.out), Expr(taps)}, [&](const te::Var& o, const te::Var& k) {
        const Expr i = first(o) + k;
        const Expr distance = te::cast(kF64, i) - source(a, attrs, o);
        const Expr weight = kernel(attrs, distance * squeeze);
        if (!attrs.exclude_outside) return weight;
        return te::select(0 <= i && i < Expr(a.in), weight, te::cast(kF64, 0));
      });
  te::Tensor weight = raw;
  if (attrs.exclude_outside || attrs.antialias) {
    const te::Tensor total = reduce_dims(raw, {1}, te::sum);
    weight = te::map(raw, total, [](const Expr& w, const Expr& sum) {
      return w / te::select(sum == 0, te::cast(kF64, 1), sum);
    });
  }
  weight = as(t.elem(), weight);
  te::Shape shape = shape_of(t);
  shape[a.d] = a.out;
  return te::compute(str("resized", a.d), shape, [&](const std::vector<te::Var>& point) {
    const auto term = [&](const Expr& k) {
      At at = indices_of(point);
      at[a.d] = clamped(first(point[a.d]) + k, a.in);
      return weight(point[a.d], k) * t.at(at);
    };
    if (!attrs.antialias) {
      Expr sum = term(0);
      for (int64_t k = 1; k < 2 * reach; ++k) sum = sum + term(k);
      return sum;
    }
    const te::Axis k = te::reduce_axis(taps);
    return te::sum(term(k), k);
  });
}

std::vector<te::Tensor> define_interpolated(const Call& call) {
  const ResizeAttrs& attrs = call.attrs<ResizeAttrs>();
  const ir::Elem elem = call.elem(0);
  const ir::Elem acc = elem == kF64 || !ir::is_float(elem) ? kF64 : ir::Elem::F32;
  const std::vector<Axis> axes = axes_of(call, kF64);
  te::Tensor t = as(acc, call.in(0));
  for (const Axis& a : axes) t = interpolated(attrs, t, a);
  t = extrapolated(call, t, axes);
  if (ir::is_float(elem)) return {as(elem, t)};
  return {te::map(t, [&](const Expr& x) { return te::cast(elem, te::round(x)); })};
}

template <class E>
E named(const OnnxNode& n, std::string_view attribute, std::string_view otherwise,
        const std::vector<std::pair<std::string_view, E>>& names) {
  const std::string given = n.attr_string(attribute, otherwise);
  std::string all;
  for (const auto& [name, value] : names) {
    if (name == given) return value;
    all += str(all.empty() ? "" : ", ", name);
  }
  n.refuse("ops.resize.mode", str(attribute, " is \"", given, "\""), str("use one of ", all));
}

ResizeAttrs attrs_of(const OnnxNode& n) {
  ResizeAttrs out{.antialias = n.attr_int("antialias", 0) != 0,
                  .exclude_outside = n.attr_int("exclude_outside", 0) != 0,
                  .cubic_a = n.attr_float("cubic_coeff_a", -0.75F),
                  .extrapolation = n.attr_float("extrapolation_value", 0)};
  out.mode = named<ResizeMode>(n, "mode", "nearest",
                               {{"nearest", ResizeMode::Nearest},
                                {"linear", ResizeMode::Linear},
                                {"bilinear", ResizeMode::Linear},
                                {"cubic", ResizeMode::Cubic}});
  if (n.opset < 11 || n.op == "Upsample") {
    out.coordinates = Coordinates::Asymmetric;
    out.nearest = NearestMode::Floor;
    return out;
  }
  out.coordinates = named<Coordinates>(n, "coordinate_transformation_mode", "half_pixel",
                                       {{"half_pixel", Coordinates::HalfPixel},
                                        {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
                                        {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
                                        {"tf_half_pixel_for_nn", Coordinates::HalfPixelForNearest},
                                        {"align_corners", Coordinates::AlignCorners},
                                        {"asymmetric", Coordinates::Asymmetric},
                                        {"tf_crop_and_resize", Coordinates::CropAndResize}});
  out.nearest = named<NearestMode>(n, "nearest_mode", "round_prefer_floor",
                                   {{"round_prefer_floor", NearestMode::RoundPreferFloor},
                                    {"round_prefer_ceil", NearestMode::RoundPreferCeil},
                                    {"floor", NearestMode::Floor},
                                    {"ceil", NearestMode::Ceil}});
  // Exporters of PyTorch and TensorFlow state the nearest mode in any case, and mean whole lengths.
  out.fractional_corners = out.coordinates == Coordinates::AlignCorners &&
                           out.mode != ResizeMode::Nearest && n.opset >= 19 &&
                           !n.has_attr("nearest_mode");
  return out;
}

/// Is the input there, and not the empty tensor that opset 11 has for a missing one?
bool given(const OnnxNode& n, Builder& g, size_t i) {
  return n.has(i) && !ir::is_const(elements(g.tensor(n.in(i)).shape), 0);
}

void resize(const OnnxNode& n, Builder& g, ResizeAttrs attrs, ValueId scales, ValueId sizes,
            ValueId roi) {
  const ValueId x = n.need(0);
  const int rank = g.tensor(x).rank();
  for (int64_t axis : n.attr_ints("axes")) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
      n.refuse("ops.resize.axes", str("axes has the value ", axis),
               str("use values between ", -rank, " and ", rank - 1));
    attrs.axes.push_back(axis);
  }
  ResizeSizesAttrs plan{.axes = attrs.axes};
  if (sizes != kNoValue)
    plan.policy = named<AspectPolicy>(n, "keep_aspect_ratio_policy", "stretch",
                                      {{"stretch", AspectPolicy::Stretch},
                                       {"not_larger", AspectPolicy::NotLarger},
                                       {"not_smaller", AspectPolicy::NotSmaller}});
  const ValueId wanted = sizes != kNoValue ? sizes : scales;
  std::vector<ValueId> made = g.calls(resize_sizes_op(), plan, {x, wanted}, 2);
  if (const ConstantNode* known = sizes == kNoValue ? g.constant_of(scales) : nullptr) {
    attrs.scales.assign(static_cast<size_t>(rank), 1);
    for (int64_t j = 0; j < known->count(); ++j) {
      const int64_t d = attrs.axes.empty() ? j : attrs.axes[static_cast<size_t>(j)];
      attrs.scales[static_cast<size_t>(d)] = number_at(*known, j);
      if (!(number_at(*known, j) > 0))
        n.refuse("ops.resize.scale", str("a scale is ", number_at(*known, j)),
                 "give scales above 0");
    }
  }
  // The scale of a given size is the quotient of the sizes.
  const bool stretched = sizes != kNoValue && plan.policy == AspectPolicy::Stretch;
  if (stretched || !attrs.scales.empty()) made[1] = kNoValue;
  const OpDef& op =
      attrs.mode == ResizeMode::Nearest ? resize_nearest_op() : resize_interpolated_op();
  if (attrs.coordinates != Coordinates::CropAndResize) roi = kNoValue;
  g.output(n, g.call(op, attrs, {x, made[0], made[1], roi}));
}

void resize_from_onnx(const OnnxNode& n, Builder& g) {
  const ValueId sizes = given(n, g, 3) ? n.in(3) : kNoValue;
  if (sizes == kNoValue && !given(n, g, 2))
    n.refuse("ops.resize.scale", "there are neither scales nor sizes", "give one of them");
  resize(n, g, attrs_of(n), n.in(2), sizes, given(n, g, 1) ? n.in(1) : kNoValue);
}

void scaled_from_onnx(const OnnxNode& n, Builder& g) {
  resize(n, g, attrs_of(n), n.need(1), kNoValue, kNoValue);
}

void upsample7_from_onnx(const OnnxNode& n, Builder& g) {
  const std::vector<float> scales = n.attr_floats("scales");
  const ValueId input = g.constant(
      float_constant(ir::Elem::F32, {std::ssize(scales)}, {scales.begin(), scales.end()}));
  resize(n, g, attrs_of(n), input, kNoValue, kNoValue);
}

}  // namespace

const OpDef& resize_nearest_op() {
  static const OpDef def = define_op<ResizeAttrs>(
      {.name = "resize_nearest",
       .fusion = FusionKind::Injective,
       .infer = infer,
       .algorithms = {{.name = "gather", .define = define_nearest}},
       .onnx = {{.op = "Resize", .from = 11, .rule = resize_from_onnx},
                {.op = "Resize", .from = 10, .rule = scaled_from_onnx, .to = 10},
                {.op = "Upsample", .from = 9, .rule = scaled_from_onnx},
                {.op = "Upsample", .from = 7, .rule = upsample7_from_onnx, .to = 8}}});
  return def;
}

const OpDef& resize_interpolated_op() {
  static const OpDef def =
      define_op<ResizeAttrs>({.name = "resize_interpolated",
                              .fusion = FusionKind::Reduction,
                              .infer = infer_interpolated,
                              .algorithms = {{.name = "tables", .define = define_interpolated}}});
  return def;
}

}  // namespace tilewright::ops
