// SPDX-License-Identifier: Apache-2.0
// ConvTranspose as a plain sum of products, in one of three ways. Each has its weights in the order
// of the sum: where they are constants, that costs the run nothing.
//
// "spread": a stage before it spreads the input out.
//   S[q] = X[(q - offset) / stride] where that is a whole number inside of X, else 0
//   Y[o] = sum over k of S[o + k * dilation] * V[k]   with V[k] = W[kernel - 1 - k]
//
// "phases", without dilation: results that are a stride apart use the same weights, so that no term
// is known to be 0. P is X with zeros around it, and W is 0 outside.
//   Z[p, q] = sum over j of P[q + (p + pad) / stride + blocks - 1 - j] * V[p, j]
//             with V[p, j] = W[j * stride + (p + pad) % stride]
//   Y[o] = Z[o % stride, o / stride]
//
// "places", without dilation, of an input with few places:
//   Y[o] = sum over i of X[i] * V[i, o]   with V[i, o] = W[o + pad - i * stride], or 0 outside of W
#include <algorithm>

#include "graph/onnx_node.h"
#include "ir/print.h"
#include "ops/checks.h"
#include "ops/conv.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

struct Spread {
  Dim in, kernel, out, pad_begin;
  int64_t stride, dilation;
};

std::vector<Spread> spreads(const Call& call) {
  const ConvTransposeAttrs& attrs = call.attrs<ConvTransposeAttrs>();
  const Shape in = spatial(call.shape(0)), kernel = spatial(call.shape(1));
  const size_t rank = in.size();
  const auto values = [&](std::string_view name, const std::vector<int64_t>& given, size_t count,
                          int64_t otherwise) {
    if (given.empty()) return std::vector<int64_t>(count, otherwise);
    need_count(call, name, given, count);
    need_at_least(call, name, given, otherwise);
    return given;
  };
  const std::vector<int64_t> strides = values("strides", attrs.strides, rank, 1);
  const std::vector<int64_t> dilations = values("dilations", attrs.dilations, rank, 1);
  const std::vector<int64_t> pads = values("pads", attrs.pads, 2 * rank, 0);
  const std::vector<int64_t> extra = values("output_padding", attrs.output_padding, rank, 0);
  std::vector<int64_t> wanted = attrs.output_shape;
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty()) need_count(call, "output_shape", wanted, rank);

  std::vector<Spread> out;
  for (size_t d = 0; d < rank; ++d) {
    Spread s{.in = in[d],
             .kernel = kernel[d],
             .out = {},
             .pad_begin = Dim(pads[d]),
             .stride = strides[d],
             .dilation = dilations[d]};
    const Dim full = (s.in - 1) * s.stride + Dim(extra[d]) + (s.kernel - 1) * s.dilation + 1;
    const bool same_upper = attrs.auto_pad == AutoPad::SameUpper;
    if (!wanted.empty())
      s.out = Dim(wanted[d]);
    else if (same_upper || attrs.auto_pad == AutoPad::SameLower)
      s.out = simplified(s.in * s.stride);
    else if (attrs.auto_pad == AutoPad::Valid)
      s.out = call.extent(full);
    else
      s.out = call.extent(full - Dim(pads[d]) - Dim(pads[rank + d]));
    if (attrs.auto_pad == AutoPad::Valid) s.pad_begin = Dim(0);
    if (!wanted.empty() || same_upper || attrs.auto_pad == AutoPad::SameLower) {
      const Dim total = ir::max(full - s.out, Dim(0));
      s.pad_begin = simplified(same_upper ? total / 2 : total - total / 2);
    }
    out.push_back(std::move(s));
  }
  return out;
}

Shape infer_shape(const Call& call) {
  const ConvTransposeAttrs& attrs = call.attrs<ConvTransposeAttrs>();
  need_min_rank(call, 0, 3);
  need_rank(call, 1, call.rank(0));
  need_at_least(call, "group", {attrs.group}, 1);
  need_no_empty(call);
  const Shape &x = call.shape(0), &w = call.shape(1);
  call.equal(x[1], w[0], "channels of the input and of the weights");
  call.check(ir::eq(x[1] % attrs.group, Dim(0)),
             str("group ", attrs.group, " does not divide the ", ir::print(x[1]), " channels"));
  if (!attrs.kernel.empty()) {
    need_count(call, "kernel_shape", attrs.kernel, w.size() - 2);
    for (size_t d = 0; d + 2 < w.size(); ++d)
      call.equal(Dim(attrs.kernel[d]), w[d + 2], "kernel_shape and the weights");
  }
  Shape out = {x[0], simplified(w[1] * attrs.group)};
  for (const Spread& s : spreads(call)) out.push_back(s.out);
  if (call.has(2)) {
    need_rank(call, 2, 1);
    call.equal(call.shape(2)[0], out[1], "the bias and the output channels");
  }
  return out;
}

std::vector<Type> infer(const Call& call) {
  need_float(call, 0);
  need_same_elem(call, 0, 1);
  if (call.has(2)) need_same_elem(call, 0, 2);
  return {tensor_of(call.elem(0), infer_shape(call))};
}

te::Tensor spread_out(const te::Tensor& x, const std::vector<Spread>& spreads) {
  te::Shape shape = shape_of(x);
  for (size_t d = 0; d < spreads.size(); ++d)
    shape[d + 2] = simplified(spreads[d].out + (spreads[d].kernel - 1) * spreads[d].dilation);
  return te::compute(str(x.name(), "_spread"), shape, [&](const std::vector<te::Var>& axes) {
    At at = indices_of(axes);
    te::Expr inside = true;
    for (size_t d = 0; d < spreads.size(); ++d) {
      const Spread& s = spreads[d];
      const te::Expr from = at[d + 2] - simplified((s.kernel - 1) * s.dilation - s.pad_begin);
      inside = inside && 0 <= from && from < s.in * s.stride;
      if (s.stride != 1) inside = inside && from % s.stride == 0;
      at[d + 2] = from / s.stride;
    }
    return te::guard(inside, x.at(at), 0);
  });
}

/// Channels of the input and filters of the weights that output channel m uses.
struct Channels {
  Channels(const Call& call)
      : group(call.attrs<ConvTransposeAttrs>().group),
        in(simplified(call.shape(0)[1] / group)),
        out(call.shape(1)[1]) {}
  te::Expr channel(const te::Expr& m, const te::Expr& c) const {
    return group == 1 ? c : m / te::Expr(out) * te::Expr(in) + c;
  }
  te::Expr filter(const te::Expr& m) const { return group == 1 ? m : m % te::Expr(out); }

  int64_t group;
  Dim in, out;  // of a group
};

std::vector<te::Tensor> define_spread(const Call& call) {
  const ir::Elem acc = wide(call.elem(0));
  const std::vector<Spread> dims = spreads(call);
  const te::Tensor x = spread_out(call.in(0), dims);
  const te::Tensor w = te::compute(str(call.in(1).name(), "_turned"), shape_of(call.in(1)),
                                   [&](const std::vector<te::Var>& axes) {
                                     At at = indices_of(axes);
                                     for (size_t d = 0; d < dims.size(); ++d)
                                       at[d + 2] = (dims[d].kernel - 1) - at[d + 2];
                                     return call.in(1).at(at);
                                   });
  const Channels channels(call);
  std::vector<te::Axis> over = {te::reduce_axis(channels.in, "rc")};
  for (size_t d = 0; d < dims.size(); ++d)
    over.push_back(te::reduce_axis(dims[d].kernel, str("k", d)));
  const te::Tensor y =
      te::compute("conv_transpose", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        const te::Expr channel = channels.channel(axes[1], over[0]);
        At at = {axes[0], channel}, weight = {channel, channels.filter(axes[1])};
        for (size_t d = 0; d < dims.size(); ++d) {
          at.push_back(axes[d + 2] + over[d + 1] * dims[d].dilation);
          weight.push_back(over[d + 1]);
        }
        return te::sum(as(acc, x.at(at)) * as(acc, w.at(weight)), te::Axes(over));
      });
  return {conv_result(call, y, call.elem(0))};
}

bool has_phases(const Call& call) {
  const std::vector<Spread> dims = spreads(call);
  return std::all_of(dims.begin(), dims.end(), [](const Spread& s) { return s.dilation == 1; }) &&
         std::any_of(dims.begin(), dims.end(), [](const Spread& s) { return s.stride != 1; });
}

/// Dimensions 2 and on of `t` with `before` zeros before them, in these extents.
te::Tensor zeros_around(const te::Tensor& t, const std::vector<Dim>& before,
                        const std::vector<Dim>& extents) {
  te::Shape shape = shape_of(t);
  bool none = true;
  for (size_t d = 0; d < extents.size(); ++d) {
    none = none && ir::is_const(before[d], 0) && same(extents[d], t.shape()[d + 2]);
    shape[d + 2] = extents[d];
  }
  if (none) return t;
  return te::compute(str(t.name(), "_padded"), shape, [&](const std::vector<te::Var>& axes) {
    At at = indices_of(axes);
    te::Expr inside = true;
    for (size_t d = 0; d < extents.size(); ++d) {
      at[d + 2] = at[d + 2] - te::Expr(before[d]);
      inside = inside && 0 <= at[d + 2] && at[d + 2] < te::Expr(t.shape()[d + 2]);
    }
    return te::guard(inside, t.at(at), 0);
  });
}

/// (p + pad) / stride and (p + pad) % stride of a phase, which is less than the stride.
std::pair<te::Expr, te::Expr> block_and_tap(const te::Var& phase, const Spread& s) {
  const auto pad = ir::const_int(s.pad_begin);
  if (pad && *pad % s.stride == 0) return {te::Expr(*pad / s.stride), phase};
  const te::Expr at = phase + te::Expr(s.pad_begin);
  return {at / s.stride, at % s.stride};
}

std::vector<te::Tensor> define_phases(const Call& call) {
  const ir::Elem acc = wide(call.elem(0));
  const std::vector<Spread> dims = spreads(call);
  const size_t rank = dims.size();
  const Channels channels(call);
  std::vector<Dim> before, extents;
  std::vector<te::Axis> over = {te::reduce_axis(channels.in, "rc")};
  te::Shape shape = {call.out_shape()[0]}, weights;
  for (const Spread& s : dims) shape.push_back(te::Expr(s.stride));
  weights.assign(shape.begin() + 1, shape.end());
  shape.push_back(call.out_shape()[1]);
  for (const size_t d : {0, 1}) weights.push_back(shape_of(call.in(1))[d]);
  bool fills = true;  // the kernel is whole blocks
  for (const Spread& s : dims) {
    const Dim stride = Dim(s.stride);
    const Dim blocks = simplified(ir::ceil_div(s.kernel, stride));
    const Dim places = simplified(ir::ceil_div(s.out, stride));
    const Dim furthest = (s.pad_begin + stride - 1) / stride;
    before.push_back(simplified(blocks - 1));
    extents.push_back(simplified(places + furthest + blocks - 1));
    fills = fills && same(simplified(blocks * stride), s.kernel);
    over.push_back(te::reduce_axis(blocks, str("j", over.size() - 1)));
    shape.push_back(places);
    weights.push_back(blocks);
  }
  const te::Tensor x = zeros_around(call.in(0), before, extents);
  const te::Tensor w = te::compute(
      str(call.in(1).name(), "_phases"), weights, [&](const std::vector<te::Var>& axes) {
        At at = {axes[rank], axes[rank + 1]};
        te::Expr inside = true;
        for (size_t d = 0; d < rank; ++d) {
          at.push_back(axes[rank + 2 + d] * dims[d].stride +
                       block_and_tap(axes[d], dims[d]).second);
          inside = inside && at.back() < te::Expr(dims[d].kernel);
        }
        return fills ? call.in(1).at(at) : te::guard(inside, call.in(1).at(at), 0);
      });
  const te::Tensor z = te::compute("phases", shape, [&](const std::vector<te::Var>& axes) {
    const te::Var& m = axes[rank + 1];
    const te::Expr channel = channels.channel(m, over[0]);
    At at = {axes[0], channel},
       weight(axes.begin() + 1, axes.begin() + 1 + static_cast<long>(rank));
    weight.insert(weight.end(), {channel, channels.filter(m)});
    for (size_t d = 0; d < rank; ++d) {
      at.push_back(axes[rank + 2 + d] + block_and_tap(axes[d + 1], dims[d]).first +
                   te::Expr(before[d]) - over[d + 1]);
      weight.push_back(over[d + 1]);
    }
    return te::sum(as(acc, x.at(at)) * as(acc, w.at(weight)), te::Axes(over));
  });
  const te::Tensor y =
      te::compute("conv_transpose", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        At at = {axes[0]};
        for (size_t d = 0; d < rank; ++d) at.push_back(axes[d + 2] % dims[d].stride);
        at.push_back(axes[1]);
        for (size_t d = 0; d < rank; ++d) at.push_back(axes[d + 2] / dims[d].stride);
        return z.at(at);
      });
  return {conv_result(call, y, call.elem(0))};
}

/// The sum runs over places of the input instead of those of the kernel: are there fewer, and are
/// the weights of all results not many more than those of the kernel?
bool has_few_places(const Call& call) {
  int64_t places = 1, terms = 1, weights = 1, given = 1;
  for (const Spread& s : spreads(call)) {
    const auto in = ir::const_int(s.in), kernel = ir::const_int(s.kernel),
               out = ir::const_int(s.out);
    if (!in || !kernel || !out || *in == 0 || s.dilation != 1) return false;
    places *= *in;
    terms *= (*kernel + s.stride - 1) / s.stride;
    weights *= *in * *out;
    given *= *kernel;
  }
  return places < terms && weights <= 2 * given;
}

std::vector<te::Tensor> define_places(const Call& call) {
  const ir::Elem acc = wide(call.elem(0));
  const std::vector<Spread> dims = spreads(call);
  const size_t rank = dims.size();
  const Channels channels(call);
  std::vector<te::Axis> over = {te::reduce_axis(channels.in, "rc")};
  te::Shape weights;
  for (const Spread& s : dims) {
    over.push_back(te::reduce_axis(s.in, str("p", over.size() - 1)));
    weights.push_back(s.in);
  }
  for (const size_t d : {0, 1}) weights.push_back(shape_of(call.in(1))[d]);
  for (const Spread& s : dims) weights.push_back(s.out);
  const te::Tensor w = te::compute(
      str(call.in(1).name(), "_places"), weights, [&](const std::vector<te::Var>& axes) {
        At at = {axes[rank], axes[rank + 1]};
        te::Expr inside = true;
        for (size_t d = 0; d < rank; ++d) {
          at.push_back(axes[rank + 2 + d] + te::Expr(dims[d].pad_begin) - axes[d] * dims[d].stride);
          inside = inside && 0 <= at.back() && at.back() < te::Expr(dims[d].kernel);
        }
        return te::guard(inside, call.in(1).at(at), 0);
      });
  const te::Tensor y =
      te::compute("conv_transpose", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        const te::Expr channel = channels.channel(axes[1], over[0]);
        At at = {axes[0], channel}, weight;
        for (size_t d = 0; d < rank; ++d) {
          at.push_back(over[d + 1]);
          weight.push_back(over[d + 1]);
        }
        weight.insert(weight.end(), {channel, channels.filter(axes[1])});
        weight.insert(weight.end(), axes.begin() + 2, axes.end());
        return te::sum(as(acc, call.in(0).at(at)) * as(acc, w.at(weight)), te::Axes(over));
      });
  return {conv_result(call, y, call.elem(0))};
}

void from_onnx(const OnnxNode& n, Builder& g) {
  const WindowAttrs w = window_attrs(n);
  const ConvTransposeAttrs attrs{.group = n.attr_int("group", 1),
                                 .auto_pad = w.auto_pad,
                                 .kernel = w.kernel,
                                 .strides = w.strides,
                                 .dilations = w.dilations,
                                 .pads = w.pads,
                                 .output_padding = n.attr_ints("output_padding"),
                                 .output_shape = n.attr_ints("output_shape")};
  g.output(n, g.call(conv_transpose_op(), attrs, {n.need(0), n.need(1), n.in(2)}));
}

}  // namespace

const OpDef& conv_transpose_op() {
  static const OpDef def = define_op<ConvTransposeAttrs>(
      {.name = "conv_transpose",
       .fusion = FusionKind::OutFusable,
       .infer = infer,
       .algorithms = {{.name = "phases", .define = define_phases, .applies = has_phases},
                      {.name = "places", .define = define_places, .applies = has_few_places},
                      {.name = "spread", .define = define_spread}},
       .channels = true,
       .onnx = {{.op = "ConvTranspose", .rule = from_onnx}}});
  return def;
}

}  // namespace tilewright::ops
