// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and LpPool over any number of spatial dimensions, and the global pools,
// which are reductions.
#include <limits>

#include "graph/onnx_node.h"
#include "ops/checks.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/window.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

std::vector<Window> windows_of(const Call& call) {
  const PoolAttrs& attrs = call.attrs<PoolAttrs>();
  need_count(call, "kernel_shape", attrs.kernel, call.shape(0).size() - 2);
  need_at_least(call, "kernel_shape", attrs.kernel, 1);
  const WindowAttrs window{.auto_pad = attrs.auto_pad,
                           .ceil_mode = attrs.ceil_mode,
                           .strides = attrs.strides,
                           .dilations = attrs.dilations,
                           .pads = attrs.pads};
  return windows(call, window, spatial(call.shape(0)), dims(attrs.kernel));
}

Shape pooled(const Call& call) {
  need_min_rank(call, 0, 3);
  Shape out = {call.shape(0)[0], call.shape(0)[1]};
  for (const Window& w : windows_of(call)) out.push_back(w.out);
  return out;
}

std::vector<Type> infer(const Call& call) {
  need_number(call, 0);
  return {tensor_of(call.elem(0), pooled(call))};
}

std::vector<Type> infer_float(const Call& call) {
  need_float(call, 0);
  return infer(call);
}

std::vector<Type> infer_indices(const Call& call) {
  need_number(call, 0);
  const Shape shape = pooled(call);
  return {tensor_of(call.elem(0), shape), tensor_of(ir::Elem::I64, shape)};
}

std::vector<te::Axis> kernel_axes(const std::vector<Window>& windows) {
  std::vector<te::Axis> out;
  for (size_t d = 0; d < windows.size(); ++d)
    out.push_back(te::reduce_axis(windows[d].kernel, str("k", d)));
  return out;
}

/// Where tap `over` of the window of output `axes` lies in the padded input.
At taps(const std::vector<Window>& windows, const std::vector<te::Var>& axes,
        const std::vector<te::Axis>& over) {
  At at = {axes[0], axes[1]};
  for (size_t d = 0; d < windows.size(); ++d)
    at.push_back(axes[d + 2] * windows[d].stride + over[d] * windows[d].dilation);
  return at;
}

/// The least value of a type: what max gives over nothing.
te::Expr lowest(ir::Elem elem) {
  if (ir::is_float(elem)) return ir::float_imm(elem, -std::numeric_limits<double>::infinity());
  return ir::int_imm(elem, ir::int_min(elem));
}

std::vector<te::Tensor> define_max(const Call& call) {
  const std::vector<Window> ws = windows_of(call);
  const te::Tensor x = padded(call.in(0), 2, ws, lowest(call.elem(0)));
  const std::vector<te::Axis> over = kernel_axes(ws);
  return {te::compute("max_pool", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    return te::max_over(x.at(taps(ws, axes, over)), te::Axes(over));
  })};
}

/// The place of the maximum in X, counted through all dimensions; the lowest of equal ones.
std::vector<te::Tensor> define_max_indices(const Call& call) {
  const std::vector<Window> ws = windows_of(call);
  const te::Tensor x = padded(call.in(0), 2, ws, lowest(call.elem(0)));
  const std::vector<te::Axis> over = kernel_axes(ws);
  const bool column_major = call.attrs<PoolAttrs>().storage_order == 1;
  std::vector<te::Tensor> both =
      te::compute("max_pool", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        const At at = taps(ws, axes, over);
        te::Expr inside = true, place = 0;
        Dim size = Dim(1);
        for (size_t i = 0; i < ws.size(); ++i) {
          const size_t d = column_major ? ws.size() - 1 - i : i;
          const te::Expr from = at[d + 2] - ws[d].pad_begin;
          inside = inside && 0 <= from && from < ws[d].in;
          place = place * ws[d].in + from;
          size = size * ws[d].in;
        }
        place = (axes[0] * call.shape(0)[1] + axes[1]) * size + place;
        place = te::select(inside, place, std::numeric_limits<int64_t>::max());
        return te::reduce(te::argmax_reducer(call.elem(0)), {place, x.at(at)}, te::Axes(over));
      });
  return {both[1], both[0]};
}

/// How many taps of the window lie in the input, or with `with_pads` in it and its pads. One for
/// none: the mean of nothing is 0, as ONNX Runtime has it.
te::Expr tap_count(const Window& w, const te::Expr& o, bool with_pads) {
  const te::Expr start = o * w.stride - w.pad_begin;
  const te::Expr low = with_pads ? te::Expr(Dim(0) - w.pad_begin) : te::Expr(0);
  const te::Expr high = with_pads ? w.in + w.pad_end : w.in;
  const auto taps_below = [&](const te::Expr& limit) {  // taps k with start + k * dilation < limit
    return (limit - start + (w.dilation - 1)) / w.dilation;
  };
  return te::max(te::min(taps_below(high), w.kernel) - te::max(taps_below(low), 0), 1);
}

std::vector<te::Tensor> define_average(const Call& call) {
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const std::vector<Window> ws = windows_of(call);
  const te::Tensor x = padded(call.in(0), 2, ws, 0);
  const std::vector<te::Axis> over = kernel_axes(ws);
  const te::Tensor sum =
      te::compute("pool_sum", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        return te::sum(as(acc, x.at(taps(ws, axes, over))), te::Axes(over));
      });
  return {te::compute("average_pool", call.out_shape(), [&](const std::vector<te::Var>& axes) {
    te::Expr count = 1;
    for (size_t d = 0; d < ws.size(); ++d)
      count = count * (ws[d].needs_padding()
                           ? tap_count(ws[d], axes[d + 2], call.attrs<PoolAttrs>().count_pads)
                           : te::Expr(ws[d].kernel));
    return as(elem, sum.at(indices_of(axes)) / te::cast(acc, count));
  })};
}

std::vector<te::Tensor> define_lp(const Call& call) {
  const ir::Elem elem = call.elem(0), acc = wide(elem);
  const double p = call.attrs<PoolAttrs>().p;
  const std::vector<Window> ws = windows_of(call);
  const te::Tensor x = padded(call.in(0), 2, ws, 0);
  const std::vector<te::Axis> over = kernel_axes(ws);
  const te::Tensor sum =
      te::compute("pool_sum", call.out_shape(), [&](const std::vector<te::Var>& axes) {
        return te::sum(power(as(acc, x.at(taps(ws, axes, over))), p), te::Axes(over));
      });
  return {te::map(sum, [&](const te::Expr& s) { return as(elem, root(s, p)); })};
}

/// The first version has a float.
double power_of(const OnnxNode& n) {
  return n.opset < 2 ? n.attr_float("p", 2) : static_cast<double>(n.attr_int("p", 2));
}

PoolAttrs pool_attrs(const OnnxNode& n) {
  const WindowAttrs w = window_attrs(n);
  if (w.kernel.empty())
    n.refuse("ops.pool.kernel", "kernel_shape is missing", "give the extents of the windows");
  return {.auto_pad = w.auto_pad,
          .ceil_mode = w.ceil_mode,
          .kernel = w.kernel,
          .strides = w.strides,
          .dilations = w.dilations,
          .pads = w.pads,
          .count_pads = n.attr_int("count_include_pad", 0) != 0,
          .storage_order = n.attr_int("storage_order", 0),
          .p = power_of(n)};
}

void max_from_onnx(const OnnxNode& n, Builder& g) {
  if (n.wants(1))
    g.outputs(n, g.calls(max_pool_indices_op(), pool_attrs(n), {n.need(0)}, 2));
  else
    g.output(n, g.call(max_pool_op(), pool_attrs(n), {n.need(0)}));
}

void average_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(average_pool_op(), pool_attrs(n), {n.need(0)}));
}

void lp_from_onnx(const OnnxNode& n, Builder& g) {
  g.output(n, g.call(lp_pool_op(), pool_attrs(n), {n.need(0)}));
}

void global(const OnnxNode& n, Builder& g, std::string_view reduction, double p = 2) {
  const int rank = g.tensor(n.need(0)).rank();
  ReduceAttrs attrs{.p = p};
  for (int d = 2; d < rank; ++d) attrs.axes.push_back(d);
  attrs.noop = true;
  g.output(n, g.call(op(reduction), attrs, {n.need(0)}));
}

void global_average_from_onnx(const OnnxNode& n, Builder& g) { global(n, g, "reduce_mean"); }
void global_max_from_onnx(const OnnxNode& n, Builder& g) { global(n, g, "reduce_max"); }
void global_lp_from_onnx(const OnnxNode& n, Builder& g) { global(n, g, "reduce_lp", power_of(n)); }

OpDef pool(std::string_view name, std::vector<Type> (*infer)(const Call&),
           std::vector<te::Tensor> (*define)(const Call&), std::vector<OnnxRule> onnx) {
  return define_op<PoolAttrs>({.name = name,
                               .fusion = FusionKind::Reduction,
                               .infer = infer,
                               .algorithms = {{.name = "direct", .define = define}},
                               .channels = true,
                               .onnx = std::move(onnx)});
}

}  // namespace

const OpDef& average_pool_op() {
  static const OpDef def = pool("average_pool", infer_float, define_average,
                                {{.op = "AveragePool", .rule = average_from_onnx},
                                 {.op = "GlobalAveragePool", .rule = global_average_from_onnx}});
  return def;
}

const OpDef& lp_pool_op() {
  static const OpDef def = pool("lp_pool", infer_float, define_lp,
                                {{.op = "LpPool", .rule = lp_from_onnx},
                                 {.op = "GlobalLpPool", .rule = global_lp_from_onnx}});
  return def;
}

const OpDef& max_pool_op() {
  static const OpDef def = pool("max_pool", infer, define_max,
                                {{.op = "MaxPool", .rule = max_from_onnx},
                                 {.op = "GlobalMaxPool", .rule = global_max_from_onnx}});
  return def;
}

const OpDef& max_pool_indices_op() {
  static const OpDef def = pool("max_pool_indices", infer_indices, define_max_indices, {});
  return def;
}

}  // namespace tilewright::ops
