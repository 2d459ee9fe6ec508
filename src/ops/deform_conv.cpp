// SPDX-License-Identifier: Apache-2.0
// DeformConv: the input is sampled where the offsets tell, as a stage, then a plain convolution.
#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/window.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;

struct DeformConvAttrs {
  int64_t group = 1, offset_group = 1;
  std::vector<int64_t> strides = {}, dilations = {}, pads = {};
  static constexpr auto fields = std::tuple{field("group", &DeformConvAttrs::group),
                                            field("offset_group", &DeformConvAttrs::offset_group),
                                            field("strides", &DeformConvAttrs::strides),
                                            field("dilations", &DeformConvAttrs::dilations),
                                            field("pads", &DeformConvAttrs::pads)};
};

enum Input : size_t { X, W, Offset, B, Mask };

std::vector<Window> windows_of(const Call& call) {
  const DeformConvAttrs& attrs = call.attrs<DeformConvAttrs>();
  const WindowAttrs window{
      .strides = attrs.strides, .dilations = attrs.dilations, .pads = attrs.pads};
  return windows(call, window, spatial(call.shape(X)), spatial(call.shape(W)));
}

std::vector<Type> infer(const Call& call) {
  const DeformConvAttrs& attrs = call.attrs<DeformConvAttrs>();
  need_float(call, X);
  need_min_rank(call, X, 3);
  need_at_least(call, "group", {attrs.group}, 1);
  need_at_least(call, "offset_group", {attrs.offset_group}, 1);
  for (const size_t i : {W, Offset, Mask})
    if (call.has(i)) need_rank(call, i, call.rank(X));
  for (const size_t i : {W, Offset, B, Mask})
    if (call.has(i)) need_same_elem(call, X, i);
  const Shape &x = call.shape(X), &w = call.shape(W);
  call.equal(x[1], w[1] * attrs.group, "channels of the input and of the weights times group");
  call.check(ir::eq(w[0] % attrs.group, Dim(0)), "group divides the output channels");
  call.check(ir::eq(x[1] % attrs.offset_group, Dim(0)), "offset_group divides the channels");
  Shape out = {x[0], w[0]};
  Dim taps = Dim(attrs.offset_group);
  for (const Window& window : windows_of(call)) {
    out.push_back(window.out);
    taps = taps * window.kernel;
  }
  const auto check = [&](size_t i, const Dim& channels) {
    if (!call.has(i)) return;
    call.equal(call.shape(i)[1], channels, "channels of the offsets or the mask");
    for (size_t d = 2; d < out.size(); ++d)
      call.equal(call.shape(i)[d], out[d], "extents of the offsets or the mask and the result");
  };
  check(Offset, taps * Dim(std::ssize(out) - 2));
  check(Mask, taps);
  if (call.has(B)) {
    need_rank(call, B, 1);
    call.equal(call.shape(B)[0], w[0], "the bias and the output channels");
  }
  return {tensor_of(call.elem(X), out)};
}

/// S[n, c, k…, o…]: the input at tap k of the window of output o, moved by its offset, between
/// elements by linear interpolation, 0 outside, times the mask.
te::Tensor sampled(const Call& call, const std::vector<Window>& ws, ir::Elem acc) {
  const DeformConvAttrs& attrs = call.attrs<DeformConvAttrs>();
  const size_t dims = ws.size();
  const Dim per_group = simplified(call.shape(X)[1] / attrs.offset_group);
  te::Shape shape = {Expr(call.shape(X)[0]), Expr(call.shape(X)[1])};
  for (const Window& w : ws) shape.push_back(w.kernel);
  for (const Window& w : ws) shape.push_back(w.out);
  return te::compute("sampled", shape, [&](const std::vector<te::Var>& axes) {
    Expr tap = attrs.offset_group == 1 ? Expr(0) : axes[1] / per_group;  // with its group
    for (size_t d = 0; d < dims; ++d) tap = tap * ws[d].kernel + axes[2 + d];
    const auto read = [&](size_t input, const Expr& channel) {
      At at = {axes[0], channel};
      for (size_t d = 0; d < dims; ++d) at.push_back(axes[2 + dims + d]);
      return as(acc, call.in(input).at(at));
    };
    std::vector<Expr> low, part;
    for (size_t d = 0; d < dims; ++d) {
      const Expr place =
          axes[2 + dims + d] * ws[d].stride - ws[d].pad_begin + axes[2 + d] * ws[d].dilation;
      const Expr p = te::cast(acc, place) +
                     read(Offset, tap * static_cast<int64_t>(dims) + static_cast<int64_t>(d));
      low.push_back(te::floor(p));
      part.push_back(p - low.back());
    }
    Expr sum = te::cast(acc, 0);
    for (size_t corner = 0; corner < (size_t{1} << dims); ++corner) {
      At at = {axes[0], axes[1]};
      Expr factor = te::cast(acc, 1), valid = true;
      for (size_t d = 0; d < dims; ++d) {
        const bool upper = corner >> d & 1;
        const Expr i = te::cast(ir::Elem::I64, low[d]) + (upper ? 1 : 0);
        factor = factor * (upper ? part[d] : 1 - part[d]);
        valid = valid && 0 <= i && i < Expr(ws[d].in);
        at.push_back(i);
      }
      sum = sum + factor * te::guard(valid, as(acc, call.in(X).at(at)), te::cast(acc, 0));
    }
    return call.has(Mask) ? sum * read(Mask, tap) : sum;
  });
}

std::vector<te::Tensor> define(const Call& call) {
  const DeformConvAttrs& attrs = call.attrs<DeformConvAttrs>();
  const ir::Elem elem = call.elem(X), acc = wide(elem);
  const std::vector<Window> ws = windows_of(call);
  const te::Tensor s = sampled(call, ws, acc);
  const Dim group_in = call.shape(W)[1], group_out = simplified(call.shape(W)[0] / attrs.group);
  std::vector<te::Axis> over = {te::reduce_axis(group_in, "rc")};
  for (size_t d = 0; d < ws.size(); ++d) over.push_back(te::reduce_axis(ws[d].kernel, str("k", d)));
  const te::Tensor y =
      te::compute("deform_conv", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        const Expr channel =
            attrs.group == 1 ? Expr(over[0]) : axes[1] / group_out * group_in + over[0];
        At at = {axes[0], channel}, weight = {axes[1], over[0]};
        for (size_t d = 0; d < ws.size(); ++d) {
          at.push_back(over[d + 1]);
          weight.push_back(over[d + 1]);
        }
        for (size_t d = 0; d < ws.size(); ++d) at.push_back(axes[d + 2]);
        return te::sum(s.at(at) * as(acc, call.in(W).at(weight)), te::Axes(over));
      });
  if (!call.has(B)) return {as(elem, y)};
  return {te::compute("conv_bias", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    return as(elem, y.at(indices_of(axes)) + as(acc, call.in(B)(axes[1])));
  })};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const DeformConvAttrs attrs{.group = n.attr_int("group", 1),
                              .offset_group = n.attr_int("offset_group", 1),
                              .strides = n.attr_ints("strides"),
                              .dilations = n.attr_ints("dilations"),
                              .pads = n.attr_ints("pads")};
  g.output(n, g.call(deform_conv_op(), attrs, {n.need(0), n.need(1), n.need(2), n.in(3), n.in(4)}));
}

}  // namespace

const OpDef& deform_conv_op() {
  static const OpDef def =
      define_op<DeformConvAttrs>({.name = "deform_conv",
                                  .fusion = FusionKind::OutFusable,
                                  .infer = infer,
                                  .algorithms = {{.name = "sampled", .define = define}},
                                  .onnx = {{.op = "DeformConv", .from = 19, .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
