// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/pattern.h"

namespace tilewright::graph {
namespace {

/// The only dimension that a reduction of `of` works along.
std::optional<int64_t> axis_of(Rewriter& r, ValueId id, std::string_view op, ValueId of) {
  const Node* n = r.maker(id, op);
  if (!n || n->inputs[0] != of) return std::nullopt;
  const auto axes = kept_axes(r, *n);
  return axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
}

bool recover(Rewriter& r, const Node& n) {
  if (n.op->name != "div") return false;
  const ValueId e = n.inputs[0];
  const Node* exp = r.uses(e) == 2 ? r.maker(e, "exp") : nullptr;
  const auto axis =
      exp && r.uses(n.inputs[1]) == 1 ? axis_of(r, n.inputs[1], "reduce_sum", e) : std::nullopt;
  if (!axis) return false;
  ValueId x = exp->inputs[0];
  const Node* shifted = inner(r, x, "sub");
  if (shifted && axis_of(r, shifted->inputs[1], "reduce_max", shifted->inputs[0]) == axis)
    x = shifted->inputs[0];
  return r.replace(n.outputs[0], r.call("softmax", {x}, {{"axis", *axis}}));
}

}  // namespace

/// Finds a softmax that is written out, with or without the maximum taken off.
///   before   %m = reduce_max(%x) {axes = [-1]}
///            %d = sub(%x, %m)
///            %e = exp(%d)
///            %s = reduce_sum(%e) {axes = [-1]}
///            %y = div(%e, %s)
///   after    %y = softmax(%x) {axis = -1}
/// Real-equal. Where the maximum is not taken off, exp may overflow before and does not after.
Graph recover_softmax(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, recover);
}

}  // namespace tilewright::graph
