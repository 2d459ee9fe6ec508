// SPDX-License-Identifier: Apache-2.0
// Conv and ConvInteger over any number of spatial dimensions. Padding is a stage of its own before
// a plain sum of products.
#include "ops/conv.h"

#include "graph/onnx_node.h"
#include "ir/print.h"
#include "ops/byte_factors.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/to_f32.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

struct Geometry {
  std::vector<Window> windows;
  Dim per_group_in, per_group_out;  // channels
};

WindowAttrs window_of(const ConvAttrs& attrs) {
  return {.auto_pad = attrs.auto_pad,
          .strides = attrs.strides,
          .dilations = attrs.dilations,
          .pads = attrs.pads};
}

Geometry geometry(const Call& call) {
  const ConvAttrs& attrs = call.attrs<ConvAttrs>();
  return {.windows = conv_windows(call),
          .per_group_in = call.shape(1)[1],
          .per_group_out = simplified(call.shape(1)[0] / attrs.group)};
}

Shape infer_shape(const Call& call) {
  const ConvAttrs& attrs = call.attrs<ConvAttrs>();
  need_min_rank(call, 0, 3);
  need_rank(call, 1, call.rank(0));
  need_at_least(call, "group", {attrs.group}, 1);
  need_no_empty(call);
  const Shape &x = call.shape(0), &w = call.shape(1);
  call.equal(x[1], w[1] * attrs.group, "channels of the input and of the weights times group");
  call.check(ir::eq(w[0] % attrs.group, Dim(0)),
             str("group ", attrs.group, " does not divide the ", ir::print(w[0]),
                 " output channels of the weights"));
  if (!attrs.kernel.empty()) {
    need_count(call, "kernel_shape", attrs.kernel, w.size() - 2);
    for (size_t d = 0; d + 2 < w.size(); ++d)
      call.equal(Dim(attrs.kernel[d]), w[d + 2], "kernel_shape and the weights");
  }
  Shape out = {x[0], w[0]};
  for (const Window& window : geometry(call).windows) out.push_back(window.out);
  return out;
}

/// Y[n, m, o…] = sum over c, k… of P[n, group of m, c, o * stride + k * dilation…] * W[m, c, k…]
te::Tensor plain(const Call& call, const te::Tensor& input, const te::Tensor& weights, ir::Elem acc,
                 const te::Expr& around = 0) {
  const Geometry g = geometry(call);
  const te::Tensor x = padded(input, 2, g.windows, around);
  std::vector<te::Axis> over = {te::reduce_axis(g.per_group_in, "rc")};
  for (size_t d = 0; d < g.windows.size(); ++d)
    over.push_back(te::reduce_axis(g.windows[d].kernel, str("k", d)));
  return te::compute("conv", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    te::Expr channel = over[0];
    if (call.attrs<ConvAttrs>().group != 1) {
      const te::Expr group =
          ir::is_const(g.per_group_out, 1) ? te::Expr(axes[1]) : axes[1] / g.per_group_out;
      channel = ir::is_const(g.per_group_in, 1) ? group : group * g.per_group_in + over[0];
    }
    At at = {axes[0], channel}, weight = {axes[1], over[0]};
    for (size_t d = 0; d < g.windows.size(); ++d) {
      at.push_back(axes[d + 2] * g.windows[d].stride + over[d + 1] * g.windows[d].dilation);
      weight.push_back(over[d + 1]);
    }
    return te::sum(as(acc, x.at(at)) * as(acc, weights.at(weight)), te::Axes(over));
  });
}

/// Do the channels that are summed up not come in groups, as they lie or in blocks of a layout?
bool needs_groups(const Call& call) {
  const auto channels = ir::const_int(call.shape(1)[1]);
  return call.attrs<ConvAttrs>().group == 1 && channels && *channels > 1 &&
         *channels % (2 * kBytesTogether) != 0;
}

/// The plain sum of such a convolution: its input with the channels last, in whole groups, whose
/// rest meets zeros in the weights.
te::Tensor in_groups(const Call& call, const te::Tensor& input, const te::Tensor& filters,
                     const te::Expr& around) {
  const Geometry g = geometry(call);
  const int64_t channels = *ir::const_int(call.shape(1)[1]), all = in_whole_groups(channels);
  const size_t rank = g.windows.size() + 2;
  te::Shape shape = {te::Expr(call.shape(0)[0])};
  for (const Window& w : g.windows) shape.push_back(te::Expr(w.padded()));
  shape.push_back(te::Expr(all));
  const te::Tensor x =
      te::compute(str(input.name(), "_in_groups"), shape, [&](const std::vector<te::Var>& axes) {
        te::Expr inside = axes[rank - 1] < te::Expr(channels);
        At at = {axes[0], axes[rank - 1]};
        for (size_t d = 0; d < g.windows.size(); ++d) {
          const Window& w = g.windows[d];
          const te::Expr i = axes[d + 1] - te::Expr(w.pad_begin);
          if (w.needs_padding()) inside = inside && 0 <= i && i < te::Expr(w.in);
          at.push_back(i);
        }
        return te::guard(inside, input.at(at), around);
      });
  shape = shape_of(filters);
  shape[1] = te::Expr(all);
  const te::Tensor w =
      te::compute(str(filters.name(), "_in_groups"), shape, [&](const std::vector<te::Var>& axes) {
        return te::guard(axes[1] < te::Expr(channels), filters.at(indices_of(axes)),
                         te::cast(filters.elem(), 0));
      });
  std::vector<te::Axis> over = {te::reduce_axis(all, "rc")};
  for (size_t d = 0; d < g.windows.size(); ++d)
    over.push_back(te::reduce_axis(g.windows[d].kernel, str("k", d)));
  return te::compute("conv", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    At at = {axes[0]}, weight = {axes[1], over[0]};
    for (size_t d = 0; d < g.windows.size(); ++d) {
      at.push_back(axes[d + 2] * g.windows[d].stride + over[d + 1] * g.windows[d].dilation);
      weight.push_back(over[d + 1]);
    }
    at.push_back(over[0]);
    return te::sum(te::cast(ir::Elem::I32, x.at(at)) * te::cast(ir::Elem::I32, w.at(weight)),
                   te::Axes(over));
  });
}

void check_bias(const Call& call) {
  if (!call.has(2)) return;
  need_rank(call, 2, 1);
  call.equal(call.shape(2)[0], call.shape(1)[0], "the bias and the output channels");
}

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_same_elem(call, 0, 1);
  if (call.has(2)) need_same_elem(call, 0, 2);
  const Shape shape = infer_shape(call);
  check_bias(call);
  return {tensor_of(call.elem(0), shape)};
}

std::vector<Type> infer_to_f32(const Call& call) {
  need_narrow_factors(call, /*wide_weights=*/true);
  const Shape shape = infer_shape(call);
  check_bias(call);
  return {tensor_of(ir::Elem::F32, shape)};
}

te::Tensor plain_sum(const Call& call) {
  return plain(call, call.in(0), call.in(1), wide(call.elem(0)));
}
std::vector<te::Tensor> define(const Call& call) {
  return {conv_result(call, plain_sum(call), call.elem(0))};
}
std::vector<te::Tensor> define_to_f32(const Call& call) {
  return {conv_result(call, plain_sum(call), ir::Elem::F32)};
}

std::vector<Type> infer_integer(const Call& call) {
  need_int(call, 0);
  need_int(call, 1);
  for (const size_t i : {2, 3}) {
    if (!call.has(i)) continue;
    need_same_elem(call, i - 2, i);
    if (call.rank(i) > (i == 2 ? 0 : 1) && !ir::is_const(elements(call.shape(i)), 1))
      call.refuse("ops.conv.zero_point", str("zero point ", i - 2, " is ", print(call.type(i))),
                  "give a scalar; that of the weights may have one value per output channel");
  }
  return {tensor_of(ir::Elem::I32, infer_shape(call))};
}

/// The value of the zero point of input 2, which all of A has, in bytes as `factors` has them.
te::Expr zero_of_input(const Call& call, const ByteFactors& factors) {
  te::Expr zero = te::cast(ir::Elem::I32, factors.a_more);
  if (!call.has(2)) return zero;
  const te::Tensor& z = call.in(2);
  return te::cast(ir::Elem::I32, z.at(At(static_cast<size_t>(z.rank()), te::Expr(0)))) + zero;
}

/// Likewise of input 3, one for each output channel or for all.
te::Expr zero_of_weights(const Call& call, const ByteFactors& factors, const te::Expr& channel) {
  const te::Expr more = te::cast(ir::Elem::I32, factors.b_more);
  if (!call.has(3)) return more;
  At at;
  for (const ir::Expr& extent : call.in(3).shape())
    at.push_back(ir::is_const(extent, 1) ? te::Expr(0) : channel);
  return te::cast(ir::Elem::I32, call.in(3).at(at)) + more;
}

/// The sum of each filter.
te::Tensor filter_sums(const Call& call, const te::Tensor& weights) {
  std::vector<te::Axis> over;
  for (size_t d = 1; d < call.shape(1).size(); ++d)
    over.push_back(te::reduce_axis(call.shape(1)[d], str("k", d)));
  return te::compute("filter_sums", {te::Expr(call.shape(1)[0])}, [&](const te::Var& m) {
    At at = {m};
    at.insert(at.end(), over.begin(), over.end());
    return te::sum(te::cast(ir::Elem::I32, weights.at(at)), te::Axes(over));
  });
}

/// The sum of all that a filter of a group is multiplied by, for every place of the result: that of
/// the channels first, then that of the window.
te::Tensor window_sums(const Call& call, const te::Tensor& input, const te::Expr& around) {
  const Geometry g = geometry(call);
  const te::Tensor x = padded(input, 2, g.windows, around);
  const te::Axis channel = te::reduce_axis(g.per_group_in, "rc");
  te::Shape shape = shape_of(x);
  shape[1] = te::Expr(call.attrs<ConvAttrs>().group);
  const te::Tensor channels =
      te::compute("channel_sums", shape, [&](const std::vector<te::Var>& axes) {
        At at = indices_of(axes);
        at[1] = at[1] * te::Expr(g.per_group_in) + channel;
        return te::sum(te::cast(ir::Elem::I32, x.at(at)), channel);
      });
  std::vector<te::Axis> over;
  for (size_t d = 0; d < g.windows.size(); ++d)
    over.push_back(te::reduce_axis(g.windows[d].kernel, str("k", d)));
  shape = te_shape(call.out(0).shape);
  shape[1] = te::Expr(call.attrs<ConvAttrs>().group);
  return te::compute("window_sums", shape, [&](const std::vector<te::Var>& axes) {
    At at = indices_of(axes);
    for (size_t d = 0; d < g.windows.size(); ++d)
      at[d + 2] = at[d + 2] * g.windows[d].stride + over[d] * g.windows[d].dilation;
    return te::sum(channels.at(at), te::Axes(over));
  });
}

/// Padding stands for 0, and so has the value of the zero point.
std::vector<te::Tensor> define_bytes(const Call& call, const ByteFactors& factors) {
  const Geometry g = geometry(call);
  const te::Expr zero = zero_of_input(call, factors), around = te::cast(ir::Elem::U8, zero);
  const te::Tensor sums = needs_groups(call)
                              ? in_groups(call, factors.a, factors.b, around)
                              : plain(call, factors.a, factors.b, ir::Elem::I32, around);
  if (factors.a_centered && factors.b_centered) return {sums};
  std::optional<te::Tensor> filters, places;
  if (!factors.a_centered) filters = filter_sums(call, factors.b);
  if (!factors.b_centered) places = window_sums(call, factors.a, around);
  Dim count = g.per_group_in;
  for (const Window& w : g.windows) count = simplified(count * w.kernel);
  return {te::compute("conv_integer", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    // Sums of constants first: the convolution's kernel ends with what follows it.
    te::Expr y = te::cast(ir::Elem::I32, 0);
    if (filters) y = (*filters)(axes[1]) * (0 - zero);
    if (places) {
      At at = indices_of(axes);
      at[1] = call.attrs<ConvAttrs>().group == 1 ? te::Expr(0) : at[1] / te::Expr(g.per_group_out);
      const te::Expr rest = te::cast(ir::Elem::I32, te::Expr(count)) * zero - places->at(at);
      y = y + rest * zero_of_weights(call, factors, axes[1]);
    }
    return y + sums.at(indices_of(axes));
  })};
}

std::vector<te::Tensor> define_integer(const Call& call) {
  const auto factors = byte_factors(call);
  // Where few channels are summed, those of the input by themselves are as much work.
  const int64_t channels = ir::const_int(geometry(call).per_group_in).value_or(kBytesTogether);
  if (factors && (factors->b_centered || channels >= kBytesTogether / 2))
    return define_bytes(call, *factors);
  const auto centered = [&](size_t i) {
    const te::Tensor& t = call.in(i);
    return te::compute(str(t.name(), "_centered"), shape_of(t), [&](const std::vector<te::Var>& v) {
      const te::Expr value = te::cast(ir::Elem::I32, t.at(indices_of(v)));
      if (!call.has(i + 2)) return value;
      const te::Tensor& zero = call.in(i + 2);
      At at;  // one per output channel of the weights, else a single value
      for (const ir::Expr& extent : zero.shape())
        at.push_back(ir::is_const(extent, 1) ? te::Expr(0) : te::Expr(v[0]));
      return value - te::cast(ir::Elem::I32, zero.at(at));
    });
  };
  return {plain(call, centered(0), centered(1), ir::Elem::I32)};
}

ConvAttrs conv_attrs(const OnnxNode& n) {
  const WindowAttrs w = window_attrs(n);
  return {.group = n.attr_int("group", 1),
          .auto_pad = w.auto_pad,
          .kernel = w.kernel,
          .strides = w.strides,
          .dilations = w.dilations,
          .pads = w.pads};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(conv_op(), conv_attrs(n), {n.need(0), n.need(1), n.in(2)}));
}

void integer_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(conv_integer_op(), conv_attrs(n), {n.need(0), n.need(1), n.in(2), n.in(3)}));
}

}  // namespace

std::vector<Window> conv_windows(const Call& call) {
  return windows(call, window_of(call.attrs<ConvAttrs>()), spatial(call.shape(0)),
                 spatial(call.shape(1)));
}

te::Tensor conv_result(const Call& call, const te::Tensor& sum, ir::Elem elem) {
  const ir::Elem acc = wide(elem);
  if (!call.has(2)) return as(elem, sum);
  return te::compute("conv_bias", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    return as(elem, sum.at(indices_of(axes)) + as(acc, call.in(2)(axes[1])));
  });
}

const OpDef& conv_op() {
  static const OpDef def = define_op<ConvAttrs>(
      {.name = "conv",
       .fusion = FusionKind::OutFusable,
       .infer = infer,
       .algorithms = {{.name = "direct", .define = define}, winograd(), winograd_2x2()},
       .channels = true,
       .onnx = {{.op = "Conv", .rule = from_onnx}}});
  return def;
}

const OpDef& conv_to_f32_op() {
  static const OpDef def =
      define_op<ConvAttrs>({.name = "conv_to_f32",
                            .fusion = FusionKind::OutFusable,
                            .infer = infer_to_f32,
                            .algorithms = {{.name = "direct", .define = define_to_f32}},
                            .channels = true});
  return def;
}

const OpDef& conv_integer_op() {
  static const OpDef def = define_op<ConvAttrs>(
      {.name = "conv_integer",
       .fusion = FusionKind::OutFusable,
       .infer = infer_integer,
       .algorithms = {{.name = "direct", .define = define_integer}},
       .channels = true,
       .onnx = {{.op = "ConvInteger", .from = 10, .rule = integer_from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
