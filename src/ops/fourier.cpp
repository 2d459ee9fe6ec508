// SPDX-License-Identifier: Apache-2.0
// DFT and STFT as sums over a table of the roots of unity.
#include <numbers>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/formula.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct DftAttrs {
  int64_t axis = 1;  // unless there is an input 2
  bool inverse = false, onesided = false;
  static constexpr auto fields =
      std::tuple{field("axis", &DftAttrs::axis), field("inverse", &DftAttrs::inverse),
                 field("onesided", &DftAttrs::onesided)};
};

/// cos and sin of 2 pi m / n for m in 0 … n - 1.
struct Roots {
  te::Tensor cos, sin;
};
Roots roots(const Dim& n, ir::Elem elem) {
  const auto angle = [&](const te::Var& m) {
    return te::cast(ir::Elem::F64, m) * (2 * std::numbers::pi) / te::cast(ir::Elem::F64, Expr(n));
  };
  const te::Shape shape = {Expr(n)};
  return {te::compute("cos", shape, [&](const te::Var& m) { return as(elem, te::cos(angle(m))); }),
          te::compute("sin", shape, [&](const te::Var& m) { return as(elem, te::sin(angle(m))); })};
}

/// 1 for real numbers, 2 for complex ones: the last dimension of the input.
int64_t parts_of(const Call& call) {
  const std::optional<int64_t> parts = ir::const_int(call.shape(0).back());
  if (parts && (*parts == 1 || *parts == 2)) return *parts;
  call.refuse("ops.dft.complex", str("input 0 is ", print(call.type(0))),
              "give a last dimension of 1 (real) or 2 (complex)");
}

Dim axis_of(const Call& call) {
  const int rank = call.rank(0);
  if (!call.has(2)) return Dim(normal_axis(call, call.attrs<DftAttrs>().axis, rank));
  return simplified(wrapped(call.element(2, 0), Dim(rank)));
}

/// The length of the transform.
Dim length_of(const Call& call, const Dim& axis) {
  if (call.has(1)) return call.extent(call.element(1, 0));
  const Dim extent = pick(call.shape(0), axis);
  const DftAttrs& attrs = call.attrs<DftAttrs>();
  return call.extent(attrs.inverse && attrs.onesided ? (extent - 1) * 2 : extent);
}

std::vector<Type> infer(const Call& call) {
  const DftAttrs& attrs = call.attrs<DftAttrs>();
  need_float(call, 0);
  need_min_rank(call, 0, 2);
  parts_of(call);
  const int rank = call.rank(0);
  const Dim axis = axis_of(call), length = length_of(call, axis);
  call.check(in_range(axis, Dim(0), Dim(rank - 1)), "the axis is one before the last dimension");
  const Dim result = attrs.onesided && !attrs.inverse ? simplified(length / 2 + 1) : length;
  Shape shape;
  for (int d = 0; d + 1 < rank; ++d)
    shape.push_back(
        call.extent(choose(ir::eq(axis, Dim(d)), result, call.shape(0)[static_cast<size_t>(d)])));
  shape.push_back(Dim(attrs.onesided && attrs.inverse ? 1 : 2));
  return {tensor_of(call.elem(0), shape)};
}

std::vector<te::Tensor> define(const Call& call) {
  const DftAttrs& attrs = call.attrs<DftAttrs>();
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const Dim axis = axis_of(call), length = length_of(call, axis);
  const Dim extent = pick(call.shape(0), axis);
  const bool half =
      attrs.onesided && attrs.inverse;  // the input is the first half of a symmetric one
  const te::Axis n = te::reduce_axis(half ? simplified(length / 2 + 1) : length, "n");
  const Roots root = roots(length, acc);
  const bool complex = parts_of(call) == 2;
  const te::Tensor sum =
      te::compute("dft_sum", call.out_shape(), [&](const std::vector<te::Var>& point) {
        Expr k = 0;
        At at;
        for (size_t d = 0; d + 1 < point.size(); ++d) {
          const ir::Expr here = ir::eq(axis, Dim(static_cast<int64_t>(d)));
          if (ir::is_false(here)) {
            at.push_back(point[d]);
          } else if (ir::is_true(here)) {
            k = point[d];
            at.push_back(n);
          } else {
            k = k + te::select(here, point[d], 0);
            at.push_back(te::select(here, n, point[d]));
          }
        }
        const auto part = [&](int64_t c) {  // 0 behind the end of the input
          At from = at;
          from.push_back(Expr(c));
          return te::guard(n < Expr(extent), as(acc, call.in(0).at(from)), te::cast(acc, 0));
        };
        const Expr re = part(0), im = complex ? part(1) : te::cast(acc, 0);
        const Expr m = k * n % Expr(length);
        const Expr c = root.cos(m), s = attrs.inverse ? root.sin(m) : -root.sin(m);
        const Expr real = re * c - im * s, imaginary = re * s + im * c;
        if (!half) return te::sum(te::select(point.back() == 0, real, imaginary), n);
        const Expr once = n == 0 || n * 2 == Expr(length);
        return te::sum(te::select(once, real, 2 * real), n);
      });
  return {te::map(sum, [&](const Expr& v) {
    return as(elem, attrs.inverse ? v / te::cast(acc, Expr(length)) : v);
  })};
}

struct StftAttrs {
  bool onesided = true;
  static constexpr auto fields = std::tuple{field("onesided", &StftAttrs::onesided)};
};

Dim frame_length(const Call& call) {
  if (call.has(3)) return call.extent(call.element(3, 0));
  return call.has(2) ? call.shape(2)[0] : call.shape(0)[1];
}

std::vector<Type> infer_stft(const Call& call) {
  need_float(call, 0);
  need_rank(call, 0, 3);
  parts_of(call);
  if (call.has(2)) need_rank(call, 2, 1);
  const Dim step = call.element(1, 0), length = frame_length(call);
  call.check(Dim(1) <= step, "the frame step is at least 1");
  if (call.has(2)) {
    need_same_elem(call, 0, 2);
    call.equal(call.shape(2)[0], length, "the window and the length of a frame");
  }
  const Dim frames = call.extent((call.shape(0)[1] - length) / step + 1);
  const Dim bins = call.attrs<StftAttrs>().onesided ? simplified(length / 2 + 1) : length;
  return {tensor_of(call.elem(0), {call.shape(0)[0], frames, bins, Dim(2)})};
}

std::vector<te::Tensor> define_stft(const Call& call) {
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const Dim step = call.element(1, 0), length = frame_length(call);
  const te::Axis n = te::reduce_axis(length, "n");
  const Roots root = roots(length, acc);
  const bool complex = parts_of(call) == 2;
  const te::Tensor sum =
      te::compute("stft", call.out_shape(),
                  [&](const te::Var& b, const te::Var& frame, const te::Var& k, const te::Var& c) {
                    const auto part = [&](int64_t i) {
                      const Expr x = as(acc, call.in(0)(b, frame * step + n, i));
                      return call.has(2) ? x * as(acc, call.in(2)(n)) : x;
                    };
                    const Expr re = part(0), im = complex ? part(1) : te::cast(acc, 0);
                    const Expr m = k * n % Expr(length), cos = root.cos(m), sin = -root.sin(m);
                    return te::sum(te::select(c == 0, re * cos - im * sin, re * sin + im * cos), n);
                  });
  return {as(elem, sum)};
}

void dft_from_onnx(const OnnxNode& n, Builder& g) {
  const DftAttrs attrs{.axis = n.attr_int("axis", n.opset < 20 ? 1 : -2),
                       .inverse = n.attr_int("inverse", 0) != 0,
                       .onesided = n.attr_int("onesided", 0) != 0};
  g.output(n, g.call(op("dft"), attrs, {n.need(0), n.in(1), n.in(2)}));
}

/// A signal of rank 2 is real: PyTorch's exporter leaves out the last dimension, which the standard
/// asks for, and other runtimes take that.
void stft_from_onnx(const OnnxNode& n, Builder& g) {
  const StftAttrs attrs{.onesided = n.attr_int("onesided", 1) != 0};
  ValueId signal = n.need(0);
  if (g.tensor(signal).rank() == 2) signal = g.call(op("unsqueeze"), {}, {signal, g.ints({-1})});
  g.output(n, g.call(op("stft"), attrs, {signal, n.need(1), n.in(2), n.in(3)}));
}

std::vector<OpDef> make_ops() {
  return {define_op<DftAttrs>({.name = "dft",
                               .fusion = FusionKind::Reduction,
                               .infer = infer,
                               .algorithms = {{.name = "direct", .define = define}},
                               .onnx = {{.op = "DFT", .from = 17, .rule = dft_from_onnx}}}),
          define_op<StftAttrs>({.name = "stft",
                                .fusion = FusionKind::Reduction,
                                .infer = infer_stft,
                                .algorithms = {{.name = "direct", .define = define_stft}},
                                .onnx = {{.op = "STFT", .from = 17, .rule = stft_from_onnx}}})};
}

}  // namespace

std::span<const OpDef> fourier_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
