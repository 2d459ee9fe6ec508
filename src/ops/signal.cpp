// SPDX-License-Identifier: Apache-2.0
// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix: tables of a size that is given as
// a value.
#include <array>
#include <numbers>

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

struct SignalAttrs {
  ir::Elem elem = ir::Elem::F32;
  bool periodic = true;  // windows
  static constexpr auto fields =
      std::tuple{field("elem", &SignalAttrs::elem), field("periodic", &SignalAttrs::periodic)};
};

std::vector<Type> infer_window(const Call& call) {
  need_int(call, 0);
  return {tensor_of(call.attrs<SignalAttrs>().elem, {call.extent(call.element(0, 0))})};
}

/// a - b cos(2 pi n / N) + c cos(4 pi n / N), with one less than the size for N unless periodic.
struct Weights {
  double a, b, c;
};
template <int Row>
std::vector<te::Tensor> define_window(const Call& call);

struct Row {
  std::string_view name, onnx;
  Weights weights;
  std::vector<te::Tensor> (*define)(const Call&);
};
constexpr std::array<Row, 3> kRows = {{
    {"blackman_window", "BlackmanWindow", {0.42, 0.5, 0.08}, define_window<0>},
    {"hamming_window", "HammingWindow", {25.0 / 46, 21.0 / 46, 0}, define_window<1>},
    {"hann_window", "HannWindow", {0.5, 0.5, 0}, define_window<2>},
}};

template <int R>
std::vector<te::Tensor> define_window(const Call& call) {
  const SignalAttrs& attrs = call.attrs<SignalAttrs>();
  const auto [a, b, c] = kRows[R].weights;
  const Dim size = call.out(0).shape[0];
  return {te::compute("window", call.out_shape(), [&, a = a, b = b, c = c](const te::Var& n) {
    const Expr whole = te::cast(kF64, Expr(attrs.periodic ? size : size - 1));
    const Expr angle = te::cast(kF64, n) * (2 * std::numbers::pi) / whole;
    Expr w = a - b * te::cos(angle);
    if (c != 0) w = w + c * te::cos(2 * angle);
    return te::cast(attrs.elem, w);
  })};
}

enum MelInput : size_t { Bins, Length, Rate, Lower, Upper };

std::vector<Type> infer_mel(const Call& call) {
  for (const size_t i : {Bins, Length, Rate}) need_int(call, i);
  for (const size_t i : {Lower, Upper}) need_float(call, i);
  const Dim rows = call.extent(call.element(Length, 0) / 2 + 1);
  return {tensor_of(call.attrs<SignalAttrs>().elem, {rows, call.extent(call.element(Bins, 0))})};
}

/// A triangle of weights for each bin, between the places of its neighbours on the mel scale.
std::vector<te::Tensor> define_mel(const Call& call) {
  const Dim bins = call.out(0).shape[1];
  const auto scalar = [&](size_t i) {
    return te::cast(kF64, call.in(i).at(At(call.shape(i).size(), Expr(0))));
  };
  const auto mel = [&](size_t i) { return 2595 * te::log1p(scalar(i) / 700) / std::numbers::ln10; };
  const te::Tensor place = te::compute("place", {Expr(bins + 2)}, [&](const te::Var& i) {
    const Expr step = (mel(Upper) - mel(Lower)) / te::cast(kF64, Expr(bins + 2));
    const Expr at = te::cast(kF64, i) * step + mel(Lower);
    const Expr hertz = 700 * te::expm1(at / 2595 * std::numbers::ln10);
    return te::cast(ir::Elem::I64, te::floor((scalar(Length) + 1) * hertz / scalar(Rate)));
  });
  return {te::compute("mel", call.out_shape(), [&](const te::Var& j, const te::Var& i) {
    const Expr low = place(i), center = place(i + 1), high = place(i + 2);
    const auto ratio = [&](const Expr& a, const Expr& b) {
      return te::cast(kF64, a) / te::cast(kF64, b);
    };
    const Expr zero = te::cast(kF64, 0);
    const Expr rising =
        te::select(low == center, te::cast(kF64, j == center),
                   te::select(low <= j && j <= center, ratio(j - low, center - low), zero));
    const Expr falls = center <= j && j < high;
    return te::cast(call.attrs<SignalAttrs>().elem,
                    te::select(falls, ratio(high - j, high - center), rising));
  })};
}

SignalAttrs attrs_of(const OnnxNode& n) {
  return {.elem = n.attr_elem("output_datatype").value_or(ir::Elem::F32),
          .periodic = n.attr_int("periodic", 1) != 0};
}

void window_from_onnx(const OnnxNode& n, Builder& g) {
  for (const Row& row : kRows)
    if (row.onnx == n.op) g.output(n, g.call(op(row.name), attrs_of(n), {n.need(0)}));
}

void mel_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(op("mel_weights"), attrs_of(n),
                     {n.need(0), n.need(1), n.need(2), n.need(3), n.need(4)}));
}

std::vector<OpDef> make_ops() {
  std::vector<OpDef> out;
  for (const Row& row : kRows)
    out.push_back(
        define_op<SignalAttrs>({.name = row.name,
                                .fusion = FusionKind::Injective,
                                .infer = infer_window,
                                .algorithms = {{.name = "direct", .define = row.define}},
                                .onnx = {{.op = row.onnx, .from = 17, .rule = window_from_onnx}}}));
  out.push_back(define_op<SignalAttrs>(
      {.name = "mel_weights",
       .fusion = FusionKind::Injective,
       .infer = infer_mel,
       .algorithms = {{.name = "direct", .define = define_mel}},
       .onnx = {{.op = "MelWeightMatrix", .from = 17, .rule = mel_from_onnx}}}));
  return out;
}

}  // namespace

std::span<const OpDef> signal_ops() {
  static const std::vector<OpDef> ops = make_ops();
  return ops;
}

}  // namespace tilewright::ops
