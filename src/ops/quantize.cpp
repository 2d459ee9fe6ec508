// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear: one scale and zero point for the whole tensor, for each index
// of an axis, or for each block of an axis. And requantize, what quantised products end with.
#include <algorithm>
#include <array>

#include "graph/onnx_node.h"
#include "ir/scalar.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/quantized.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

/// Is the scale one value for the whole tensor?
bool per_tensor(const Shape& scale) {
  return std::all_of(scale.begin(), scale.end(), [](const Dim& d) { return ir::is_const(d, 1); });
}

/// Which element of a scale or zero point belongs to an element of x.
std::vector<te::Expr> scale_at(const Call& call, size_t i, const QuantizeAttrs& attrs,
                               const std::vector<te::Expr>& at) {
  const Shape& shape = call.shape(i);
  if (per_tensor(shape)) return std::vector<te::Expr>(shape.size(), te::Expr(0));
  const auto axis = static_cast<size_t>(normal_axis(call, attrs.axis, call.rank(0)));
  if (attrs.block == 0) return {at[axis]};
  std::vector<te::Expr> out = at;
  out[axis] = at[axis] / attrs.block;
  return out;
}

/// The shape of a scale or zero point fits that of x.
void check_scale(const Call& call, size_t i, const QuantizeAttrs& attrs) {
  const Shape &x = call.shape(0), &s = call.shape(i);
  if (per_tensor(s)) return;
  const auto axis = static_cast<size_t>(normal_axis(call, attrs.axis, call.rank(0)));
  if (attrs.block < 0)
    call.refuse("ops.quantize.block", str("block_size is ", attrs.block),
                "use the number of elements that share a scale, or 0 for all of them");
  if (s.size() != (attrs.block == 0 ? 1 : x.size()))
    call.refuse(
        "ops.quantize.scale", str("input ", i, " is ", print(call.type(i))),
        attrs.block == 0
            ? "give a scalar, or one value for each index of the axis"
            : "give a scale for each block: the shape of x, the axis divided by block_size");
  if (attrs.block == 0) {
    call.equal(x[axis], s[0], "the axis and its scales");
    return;
  }
  for (size_t d = 0; d < x.size(); ++d)
    call.equal(d == axis ? ir::ceil_div(x[d], attrs.block) : x[d], s[d], "x and its scales");
}

void check_params(const Call& call, const QuantizeAttrs& attrs, Elem quantised) {
  need_float(call, 1);
  check_scale(call, 1, attrs);
  if (!call.has(2)) return;
  if (call.elem(2) != quantised)
    call.refuse("ops.quantize.zero_point",
                str("the zero point holds ", ir::name(call.elem(2)), ", the quantised tensor ",
                    ir::name(quantised)),
                "give both the same type");
  check_scale(call, 2, attrs);
}

std::vector<Type> infer_quantize(const Call& call) {
  const QuantizeAttrs& attrs = call.attrs<QuantizeAttrs>();
  need_number(call, 0);
  check_params(call, attrs, attrs.to);
  return {tensor_of(attrs.to, call.shape(0))};
}

std::vector<te::Tensor> quantize(const Call& call) {
  const QuantizeAttrs& attrs = call.attrs<QuantizeAttrs>();
  const ConstantNode* known = call.constant(1);
  const bool in_steps = known && uniform(*known) == 1.0;
  return {te::compute("q", call.out_shape(), [&](const std::vector<te::Var>& v) {
    const At at = indices_of(v);
    te::Expr ratio = as(attrs.precision, call.in(0).at(at));
    if (!in_steps) {
      const te::Expr scale = call.in(1).at(scale_at(call, 1, attrs, at));
      ratio = ratio / as(attrs.precision, scale);
    }
    if (ir::is_float(attrs.to)) return to_small_float(attrs.to, ratio, attrs.saturate);
    const te::Expr steps = as(Elem::F32, te::round(ratio));
    if (!call.has(2)) return saturated(attrs.to, steps);
    const te::Expr zero = call.in(2).at(scale_at(call, 2, attrs, at));
    return saturated(attrs.to, steps + as(Elem::F32, zero));
  })};
}

std::vector<Type> infer_dequantize(const Call& call) {
  const QuantizeAttrs& attrs = call.attrs<QuantizeAttrs>();
  need_number(call, 0);
  check_params(call, attrs, call.elem(0));
  return {tensor_of(attrs.to, call.shape(0))};
}

std::vector<te::Tensor> dequantize(const Call& call) {
  const QuantizeAttrs& attrs = call.attrs<QuantizeAttrs>();
  return {te::compute("dq", call.out_shape(), [&](const std::vector<te::Var>& v) {
    const At at = indices_of(v);
    te::Expr x = call.in(0).at(at);
    // The zero point of small floats is 0.
    if (call.has(2) && !ir::is_float(x.elem()))
      x = as(Elem::I32, x) - as(Elem::I32, call.in(2).at(scale_at(call, 2, attrs, at)));
    const te::Expr scale = call.in(1).at(scale_at(call, 1, attrs, at));
    return as(attrs.to, as(Elem::F32, x) * as(Elem::F32, scale));
  })};
}

// Inputs: sums (i32), the scales of both factors and of the result, its zero point.
std::vector<Type> infer_requantize(const Call& call) {
  for (const size_t i : {1, 2, 3}) need_float(call, i);
  return {tensor_of(call.attrs<RequantizeAttrs>().to, call.shape(0))};
}

std::vector<te::Tensor> requantize(const Call& call) {
  const RequantizeAttrs& attrs = call.attrs<RequantizeAttrs>();
  const int rank = call.rank(0);
  return {te::compute("requantized", call.out_shape(), [&](const std::vector<te::Var>& v) {
    const At at = indices_of(v);
    // A list of scales belongs to an axis; others broadcast.
    const auto read = [&](size_t i, int64_t axis) {
      const te::Tensor& t = call.in(i);
      if (per_tensor(t.shape()))
        return t.at(std::vector<te::Expr>(static_cast<size_t>(t.rank()), te::Expr(0)));
      if (t.rank() == 1) return t(at[static_cast<size_t>(normal_axis(call, axis, rank))]);
      return broadcast_read(t, at);
    };
    const auto f32 = [](const te::Expr& e) { return as(Elem::F32, e); };
    const te::Expr factor =
        f32(read(1, attrs.a_axis)) * f32(read(2, attrs.b_axis)) / f32(read(3, attrs.a_axis));
    const te::Expr steps = te::round(f32(call.in(0).at(at)) * factor);
    if (!call.has(4)) return saturated(attrs.to, steps);
    return saturated(attrs.to, steps + f32(read(4, attrs.a_axis)));
  })};
}

void quantize_from_onnx(const OnnxNode& n, Builder& g) {
  const std::optional<Elem> wanted = n.attr_elem("output_dtype");
  const Elem to = n.has(2) ? g.tensor(n.in(2)).elem : wanted.value_or(Elem::U8);
  if (wanted && *wanted != to)
    n.refuse(
        "ops.quantize.output_dtype",
        str("output_dtype is ", ir::name(*wanted), ", but the zero point holds ", ir::name(to)),
        "leave out one of them, or give both the same type");
  const Elem scale = g.tensor(n.need(1)).elem;
  const QuantizeAttrs attrs{
      .axis = n.attr_int("axis", 1),
      .block = n.attr_int("block_size", 0),
      .to = to,
      // A quotient need not be a power of two.
      .precision = n.attr_elem("precision").value_or(scale == Elem::F8E8M0 ? Elem::F32 : scale),
      .saturate = n.attr_int("saturate", 1) != 0};
  g.output(n, g.call(quantize_op(), attrs, {n.need(0), n.need(1), n.in(2)}));
}

void dequantize_from_onnx(const OnnxNode& n, Builder& g) {
  const QuantizeAttrs attrs{.axis = n.attr_int("axis", 1),
                            .block = n.attr_int("block_size", 0),
                            .to = n.attr_elem("output_dtype").value_or(g.tensor(n.need(1)).elem)};
  g.output(n, g.call(dequantize_op(), attrs, {n.need(0), n.need(1), n.in(2)}));
}

}  // namespace

te::Expr saturated(Elem to, const te::Expr& steps) {
  const auto lo = static_cast<double>(ir::int_min(to)), hi = static_cast<double>(ir::int_max(to));
  return te::cast(to, te::min(te::max(steps, lo), hi));
}

te::Expr to_small_float(Elem to, const te::Expr& value, bool saturate) {
  if (!saturate) return as(to, value);
  const double most = ir::greatest_finite(to);
  return te::cast(to, te::min(te::max(as(Elem::F32, value), -most), most));
}

const OpDef& quantize_op() {
  static const OpDef def = define_op<QuantizeAttrs>(
      {.name = "quantize",
       .fusion = FusionKind::Injective,
       .infer = infer_quantize,
       .algorithms = {{.name = "direct", .define = quantize}},
       .onnx = {{.op = "QuantizeLinear", .from = 10, .rule = quantize_from_onnx},
                {.op = "QuantizeLinear", .rule = quantize_from_onnx, .domain = "com.microsoft"}}});
  return def;
}

const OpDef& dequantize_op() {
  static const OpDef def = define_op<QuantizeAttrs>(
      {.name = "dequantize",
       .fusion = FusionKind::Injective,
       .infer = infer_dequantize,
       .algorithms = {{.name = "direct", .define = dequantize}},
       .onnx = {
           {.op = "DequantizeLinear", .from = 10, .rule = dequantize_from_onnx},
           {.op = "DequantizeLinear", .rule = dequantize_from_onnx, .domain = "com.microsoft"}}});
  return def;
}

const OpDef& requantize_op() {
  static const OpDef def =
      define_op<RequantizeAttrs>({.name = "requantize",
                                  .fusion = FusionKind::Injective,
                                  .infer = infer_requantize,
                                  .algorithms = {{.name = "direct", .define = requantize}}});
  return def;
}

}  // namespace tilewright::ops
