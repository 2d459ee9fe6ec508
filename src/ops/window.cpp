// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include "ir/print.h"
#include "ops/checks.h"
#include "support/str.h"

namespace tilewright::ops {

using graph::Call;
using graph::Dim;

WindowAttrs window_attrs(const graph::OnnxNode& node) {
  WindowAttrs out{.ceil_mode = node.attr_int("ceil_mode", 0) != 0,
                  .kernel = node.attr_ints("kernel_shape"),
                  .strides = node.attr_ints("strides"),
                  .dilations = node.attr_ints("dilations"),
                  .pads = node.attr_ints("pads")};
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER")
    out.auto_pad = AutoPad::SameUpper;
  else if (mode == "SAME_LOWER")
    out.auto_pad = AutoPad::SameLower;
  else if (mode == "VALID")
    out.auto_pad = AutoPad::Valid;
  else if (mode != "NOTSET" && !mode.empty())
    node.refuse("ops.window.auto_pad", str("auto_pad is \"", mode, "\""),
                "use NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  return out;
}

Dim Window::padded() const {
  const Dim all = in + pad_begin + pad_end;
  const Dim covered = (out - 1) * stride + (kernel - 1) * dilation + 1;
  return graph::simplified(ceil_mode ? ir::max(all, covered) : all);
}

bool Window::needs_padding() const {
  return !ir::is_const(pad_begin, 0) || !graph::same(padded(), in);
}

std::vector<Window> windows(const Call& call, const WindowAttrs& attrs, const graph::Shape& in,
                            const graph::Shape& kernel) {
  const size_t rank = in.size();
  const auto one_per_dim = [&](std::string_view name, std::vector<int64_t> values) {
    if (values.empty()) values.assign(rank, 1);
    need_count(call, name, values, rank);
    need_at_least(call, name, values, 1);
    return values;
  };
  const std::vector<int64_t> strides = one_per_dim("strides", attrs.strides);
  const std::vector<int64_t> dilations = one_per_dim("dilations", attrs.dilations);
  std::vector<int64_t> pads = attrs.pads;
  if (pads.empty()) pads.assign(2 * rank, 0);
  need_count(call, "pads", pads, 2 * rank);
  need_at_least(call, "pads", pads, 0);

  std::vector<Window> out;
  for (size_t d = 0; d < rank; ++d) {
    Window w{.in = in[d],
             .kernel = kernel[d],
             .out = {},
             .pad_begin = Dim(0),
             .pad_end = Dim(0),
             .stride = strides[d],
             .dilation = dilations[d],
             .ceil_mode = attrs.ceil_mode};
    const Dim reach = (w.kernel - 1) * w.dilation + 1;
    if (attrs.auto_pad == AutoPad::SameUpper || attrs.auto_pad == AutoPad::SameLower) {
      w.out = graph::simplified(ir::ceil_div(w.in, Dim(w.stride)));
      const Dim total = graph::simplified(ir::max((w.out - 1) * w.stride + reach - w.in, Dim(0)));
      const Dim half = graph::simplified(total / 2);
      const Dim rest = graph::simplified(total - half);
      const bool upper = attrs.auto_pad == AutoPad::SameUpper;
      w.pad_begin = upper ? half : rest;
      w.pad_end = upper ? rest : half;
    } else {
      if (attrs.auto_pad == AutoPad::NotSet) {
        w.pad_begin = Dim(pads[d]);
        w.pad_end = Dim(pads[rank + d]);
      }
      const Dim room = w.in + w.pad_begin + w.pad_end - reach;
      if (attrs.ceil_mode) {
        // A last window that would start behind the input and its begin is left out.
        const Dim all = ir::ceil_div(room, Dim(w.stride)) + 1;
        w.out = all - ir::cast(ir::Elem::I64, (all - 1) * w.stride >= w.in + w.pad_begin);
      } else {
        w.out = room / w.stride + 1;
      }
      call.check(0 <= w.out, str("a window of ", ir::print(graph::simplified(reach)),
                                 " does not fit into dimension ", d + 2, ", ", ir::print(w.in)));
      w.out = call.defines() ? call.out(0).shape.at(d + 2) : call.extent(w.out);
    }
    out.push_back(std::move(w));
  }
  return out;
}

void need_no_empty(const Call& call) {
  const graph::Shape& x = call.shape(0);
  for (size_t d = 2; d < x.size(); ++d)
    call.check(1 <= x[d], str("windows over dimension ", d, ", which is empty"));
}

te::Tensor padded(const te::Tensor& x, size_t first, const std::vector<Window>& windows,
                  const te::Expr& value) {
  bool needed = false;
  te::Shape shape = shape_of(x);
  for (size_t d = 0; d < windows.size(); ++d) {
    if (!windows[d].needs_padding()) continue;
    needed = true;
    shape[first + d] = windows[d].padded();
  }
  if (!needed) return x;
  return te::compute(str(x.name(), "_padded"), shape, [&](const std::vector<te::Var>& axes) {
    At at = indices_of(axes);
    te::Expr inside = true;
    for (size_t d = 0; d < windows.size(); ++d) {
      const Window& w = windows[d];
      if (!w.needs_padding()) continue;
      te::Expr& i = at[first + d];
      const te::Expr low = w.pad_begin, high = w.pad_begin + w.in;
      inside = inside && low <= i && i < high;
      i = i - low;
    }
    return te::guard(inside, x.at(at), value);
  });
}

}  // namespace tilewright::ops
