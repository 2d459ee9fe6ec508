// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/pattern.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kNotSet = 0, kValid = 3;  // of ops::AutoPad
constexpr int64_t kConstantMode = 0;        // of ops::PadMode

/// What a pad node puts around its input: all befores, then all afters; nothing where they are not
/// known, take elements away, or widen more than the dimensions behind the first two.
std::optional<std::vector<int64_t>> window_pads(Rewriter& r, const Node& pad) {
  const TensorType* x = r.tensor(pad.inputs[0]);
  const Constant& given = r.value(pad.inputs[1]).constant;
  if (!x || x->rank() < 3 || !given) return std::nullopt;
  const std::vector<int64_t> pads = ints_of(*given);
  std::vector<int64_t> axes;
  for (int64_t d = 0; d < x->rank(); ++d) axes.push_back(d);
  if (pad.inputs.size() > 3 && pad.inputs[3] != kNoValue) {
    const Constant& listed = r.value(pad.inputs[3]).constant;
    if (!listed) return std::nullopt;
    axes = ints_of(*listed);
  }
  const auto spatial = static_cast<size_t>(x->rank() - 2);
  std::vector<int64_t> out(2 * spatial, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x->rank() : axes[i];
    const int64_t before = pads[i], after = pads[i + axes.size()];
    if (before < 0 || after < 0 || (axis < 2 && before + after > 0)) return std::nullopt;
    if (axis < 2) continue;
    out[static_cast<size_t>(axis) - 2] = before;
    out[static_cast<size_t>(axis) - 2 + spatial] = after;
  }
  return out;
}

/// The number that a pad node puts in; nothing when the run alone tells.
std::optional<double> fill_of(Rewriter& r, const Node& pad) {
  if (pad.inputs.size() < 3 || pad.inputs[2] == kNoValue) return 0;
  return number_of(r, pad.inputs[2]);
}

/// May the window operator take the fill for its own padding, which is `pads` then?
bool is_neutral(Rewriter& r, const Node& n, const Node& pad, double fill,
                const std::vector<int64_t>& pads) {
  if (n.op->name != "max_pool") return fill == 0;
  if (fill == -INFINITY) return true;
  // No element of relu's is less than 0, and a window without gaps that is larger than the padding
  // has one.
  for (const int64_t d : attr<std::vector<int64_t>>(n, "dilations"))
    if (d != 1) return false;
  const auto kernel = attr<std::vector<int64_t>>(n, "kernel");
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] >= kernel[i % kernel.size()]) return false;
  return fill == 0 && r.maker(pad.inputs[0], "relu");
}

bool fold(Rewriter& r, const Node& n) {
  const std::string_view op = n.op->name;
  const bool pool = op == "max_pool" || op == "average_pool" || op == "lp_pool";
  if (op != "conv" && !pool) return false;
  const Node* pad = r.maker(n.inputs[0], "pad");
  if (!pad || attr<int64_t>(*pad, "mode") != kConstantMode) return false;
  const auto auto_pad = attr<int64_t>(n, "auto_pad");
  if (auto_pad != kNotSet && auto_pad != kValid) return false;
  if (pool && attr<int64_t>(n, "ceil_mode") != 0) return false;  // which windows there are changes
  const std::optional<std::vector<int64_t>> more = window_pads(r, *pad);
  const std::optional<double> fill = fill_of(r, *pad);
  if (!more || !fill) return false;

  auto pads = attr<std::vector<int64_t>>(n, "pads");
  if (auto_pad == kValid || pads.empty()) pads.assign(more->size(), 0);
  bool padded = false;
  for (const int64_t p : pads) padded = padded || p != 0;
  // An average counts what was put in, and its own padding only if it says so.
  if (op == "average_pool" && padded && attr<int64_t>(n, "count_pads") == 0) return false;
  for (size_t i = 0; i < pads.size(); ++i) pads[i] += (*more)[i];
  if (!is_neutral(r, n, *pad, *fill, pads)) return false;
  AttrList attrs = n.attrs.list();
  for (NamedAttr& a : attrs) {
    if (a.name == "auto_pad") a.value = kNotSet;
    if (a.name == "pads") a.value = pads;
    if (a.name == "count_pads" && op == "average_pool") a.value = int64_t{1};
  }
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = pad->inputs[0];
  return r.replace(n.outputs[0], r.call(op, inputs, attrs));
}

}  // namespace

/// Lets convolutions and pools do the padding before them, which then needs no copy.
///   before   %p: f32[1, 8, 6, 6] = pad(%x, %pads: const i64[8])
///            %y: f32[1, 8, 4, 4] = conv(%p, %w) {pads = [0, 0, 0, 0]}
///   after    %y: f32[1, 8, 4, 4] = conv(%x, %w) {pads = [1, 1, 1, 1]}
/// Where the value is neutral: 0 for convolutions, averages and norms; -inf for maxima, or 0 of
/// what is never negative.
Graph fold_pads(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, fold);
}

}  // namespace tilewright::graph
