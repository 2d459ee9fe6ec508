// SPDX-License-Identifier: Apache-2.0
// Operators on quantised tensors. Products are sums of integers, scaled at the end; the others
// compute on what the quantised values stand for.
#include <algorithm>
#include <array>

#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/quantized.h"
#include "ops/recurrent.h"
#include "ops/window.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

/// The values that inputs i (quantised), i + 1 (scale) and i + 2 (zero point) stand for.
ValueId real(const OnnxNode& n, Builder& g, size_t i) {
  const QuantizeAttrs attrs{.axis = 0, .to = Elem::F32};
  return g.call(dequantize_op(), attrs, {n.need(i), n.need(i + 1), n.in(i + 2)});
}

/// x with the scale i and zero point i + 1 of the node; like input `like` without a zero point.
ValueId quantised(const OnnxNode& n, Builder& g, ValueId x, size_t i, size_t like) {
  const Elem to = g.tensor(n.has(i + 1) ? n.in(i + 1) : n.need(like)).elem;
  return g.call(quantize_op(), QuantizeAttrs{.axis = 0, .to = to}, {x, n.need(i), n.in(i + 1)});
}

// x: its least and greatest value, 0 among them, go to 0 and 255.
std::vector<Type> infer_dynamic(const Call& call) {
  need_float(call, 0);
  return {tensor_of(Elem::U8, call.shape(0)), tensor_of(Elem::F32, {}), tensor_of(Elem::U8, {})};
}

std::vector<te::Tensor> dynamic(const Call& call) {
  const te::Tensor x = as(Elem::F32, call.in(0));
  const DynamicSteps steps = dynamic_steps(x);
  const te::Tensor y = te::compute("y", call.out_shape(), [&](const std::vector<te::Var>& at) {
    return steps.quantised(x.at(indices_of(at)));
  });
  return {y, steps.scale, steps.zero};
}

void dynamic_from_onnx(const OnnxNode& n, Builder& g) {
  g.outputs(n, g.calls(dynamic_quantize_op(), {}, {n.need(0)}, 3));
}

void matmul(const OnnxNode& n, Builder& g) {
  const ValueId sums =
      g.call(matmul_integer_op(), MatMulAttrs{}, {n.need(0), n.need(3), n.in(2), n.in(5)});
  const Elem to = g.tensor(n.has(7) ? n.in(7) : n.need(0)).elem;
  const int64_t rows = g.tensor(sums).rank() > 1 ? -2 : -1;
  g.output(n, g.call(requantize_op(), RequantizeAttrs{.to = to, .a_axis = rows, .b_axis = -1},
                     {sums, n.need(1), n.need(4), n.need(6), n.in(7)}));
}

void conv(const OnnxNode& n, Builder& g) {
  const WindowAttrs window = window_attrs(n);
  const ConvAttrs attrs{.group = n.attr_int("group", 1),
                        .auto_pad = window.auto_pad,
                        .kernel = window.kernel,
                        .strides = window.strides,
                        .dilations = window.dilations,
                        .pads = window.pads};
  ValueId sums = g.call(conv_integer_op(), attrs, {n.need(0), n.need(3), n.in(2), n.in(5)});
  if (n.has(8)) {  // one i32 for each output channel
    std::vector<int64_t> shape(static_cast<size_t>(g.tensor(sums).rank()), 1);
    shape[1] = -1;
    const ValueId bias = g.call(op("reshape"), ReshapeAttrs{}, {n.in(8), g.ints(shape)});
    sums = g.call(op("add"), {}, {sums, bias});
  }
  const Elem to = g.tensor(n.has(7) ? n.in(7) : n.need(0)).elem;
  g.output(n, g.call(requantize_op(), RequantizeAttrs{.to = to, .a_axis = 1, .b_axis = 1},
                     {sums, n.need(1), n.need(4), n.need(6), n.in(7)}));
}

void binary(const OnnxNode& n, Builder& g) {
  const std::string_view name = n.op == "QLinearAdd" ? "add" : "mul";
  const ValueId y = g.call(op(name), {}, {real(n, g, 0), real(n, g, 3)});
  g.output(n, quantised(n, g, y, 6, 0));
}

/// An ONNX operator of one input, by the name behind `QLinear`.
void unary(const OnnxNode& n, Builder& g) {
  const std::string_view name = std::string_view(n.op).substr(std::string_view("QLinear").size());
  if (n.attr_int("channels_last", 0) != 0)
    n.refuse("ops.qlinear.channels_last", "channels_last is set",
             "transpose the input, and leave the attribute out");
  g.output(n, quantised(n, g, as_onnx(n, g, name, {real(n, g, 0)}).at(0), 3, 0));
}

void concat(const OnnxNode& n, Builder& g) {
  std::vector<ValueId> parts;
  for (size_t i = 2; i + 1 < n.inputs.size(); i += 3) parts.push_back(real(n, g, i));
  g.output(n, quantised(n, g, as_onnx(n, g, "Concat", parts).at(0), 0, 2));
}

/// (A, its scale, zero point, B, …, C as i32, result's scale, zero point); floats without a scale.
void gemm(const OnnxNode& n, Builder& g) {
  const MatMulAttrs attrs{.trans_a = n.attr_int("transA", 0) != 0,
                          .trans_b = n.attr_int("transB", 0) != 0};
  ValueId sums = g.call(matmul_integer_op(), attrs, {n.need(0), n.need(3), n.in(2), n.in(5)});
  if (n.has(6)) sums = g.call(op("add"), {}, {sums, n.in(6)});
  const float alpha = n.attr_float("alpha", 1);
  ValueId a_scale = n.need(1);
  if (alpha != 1)
    a_scale = g.call(op("mul"), {}, {a_scale, g.scalar(g.tensor(a_scale).elem, alpha)});
  if (n.has(7)) {
    const Elem to = g.tensor(n.has(8) ? n.in(8) : n.need(0)).elem;
    g.output(n, g.call(requantize_op(), RequantizeAttrs{.to = to, .a_axis = -2, .b_axis = -1},
                       {sums, a_scale, n.need(4), n.in(7), n.in(8)}));
    return;
  }
  const ValueId scaled = g.call(op("mul"), {}, {a_scale, n.need(4)});
  const ValueId y = g.call(op("cast"), CastAttrs{.to = Elem::F32}, {sums});
  g.output(n, g.call(op("mul"), {}, {y, scaled}));
}

/// A B as integers, times both scales, plus a bias.
ValueId scaled_product(Builder& g, ValueId a, ValueId b,
                       const std::array<ValueId, 4>& scale_and_zero, ValueId bias) {
  const auto [a_scale, b_scale, a_zero, b_zero] = scale_and_zero;
  const ValueId sums = g.call(matmul_integer_op(), MatMulAttrs{}, {a, b, a_zero, b_zero});
  ValueId y = g.call(op("cast"), CastAttrs{.to = g.tensor(a_scale).elem}, {sums});
  y = g.call(op("mul"), {}, {y, g.call(op("mul"), {}, {a_scale, b_scale})});
  return bias == kNoValue ? y : g.call(op("add"), {}, {y, bias});
}

void to_float(const OnnxNode& n, Builder& g) {
  g.output(n, scaled_product(g, n.need(0), n.need(1), {n.need(2), n.need(3), n.in(4), n.in(5)},
                             n.in(6)));
}

void dynamic_matmul(const OnnxNode& n, Builder& g) {
  const std::vector<ValueId> a = g.calls(dynamic_quantize_op(), {}, {n.need(0)}, 3);
  g.output(n, scaled_product(g, a[0], n.need(1), {a[1], n.need(2), a[2], n.in(3)}, n.in(4)));
}

OnnxRule microsoft(std::string_view op, void (*rule)(const OnnxNode&, Builder&)) {
  return {.op = op, .rule = rule, .domain = "com.microsoft"};
}

}  // namespace

DynamicSteps dynamic_steps(const te::Tensor& x) {
  const std::vector<int> all = range(0, x.rank());
  const te::Tensor hi = reduce_dims(x, all, te::max_over), lo = reduce_dims(x, all, te::min_over);
  const At first(static_cast<size_t>(x.rank()), te::Expr(0));
  const te::Tensor scale = te::compute("scale", {}, [&] {
    const te::Expr span = te::max(hi.at(first), 0.0) - te::min(lo.at(first), 0.0);
    return te::select(span == 0.0, te::cast(Elem::F32, 1.0), span / 255.0);
  });
  const te::Tensor zero = te::compute("zero", {}, [&] {
    return saturated(Elem::U8, te::round(-te::min(lo.at(first), 0.0) / scale()));
  });
  return {scale, zero};
}

te::Expr DynamicSteps::quantised(const te::Expr& x) const {
  return saturated(Elem::U8, te::round(x / scale()) + as(Elem::F32, zero()));
}

const OpDef& dynamic_quantize_op() {
  static const OpDef def =
      define_op({.name = "dynamic_quantize",
                 .fusion = FusionKind::Reduction,
                 .infer = infer_dynamic,
                 .algorithms = {{.name = "direct", .define = dynamic}},
                 .onnx = {{.op = "DynamicQuantizeLinear", .from = 11, .rule = dynamic_from_onnx},
                          {.op = "QLinearMatMul", .from = 10, .rule = matmul},
                          {.op = "QLinearConv", .from = 10, .rule = conv},
                          microsoft("DynamicQuantizeLSTM", dynamic_lstm_from_onnx),
                          microsoft("DynamicQuantizeMatMul", dynamic_matmul),
                          microsoft("MatMulIntegerToFloat", to_float),
                          microsoft("QGemm", gemm),
                          microsoft("QLinearAdd", binary),
                          microsoft("QLinearMul", binary),
                          microsoft("QLinearAveragePool", unary),
                          microsoft("QLinearConcat", concat),
                          microsoft("QLinearGlobalAveragePool", unary),
                          microsoft("QLinearLeakyRelu", unary),
                          microsoft("QLinearSigmoid", unary),
                          microsoft("QLinearSoftmax", unary)}});
  return def;
}

}  // namespace tilewright::ops
