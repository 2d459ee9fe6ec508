// SPDX-License-Identifier: Apache-2.0
#include "graph/group.h"

#include <algorithm>

#include "graph/definition.h"
#include "graph/layout.h"

namespace tilewright::graph {

const OpDef& group_op() {
  static const OpDef def =
      define_op({.name = "group", .fusion = FusionKind::Opaque, .special = Special::Group});
  return def;
}

std::vector<ValueId> in_place_inputs(Graph& graph, const Node& group) {
  if (group.outputs.size() != 1) return {};
  const TensorType& out = *graph.type(group.outputs[0]).tensor();
  for (const Node& n : group.bodies.at(0).nodes)
    if (!is_pointwise(graph, n) || !same(graph.type(n.outputs[0]).tensor()->shape, out.shape))
      return {};
  std::vector<ValueId> inputs;
  for (const ValueId id : group.inputs) {
    const TensorType* t = graph.type(id).tensor();
    if (t && !graph.value(id).constant && ir::bits(t->elem) == ir::bits(out.elem) &&
        same(t->shape, out.shape) && channel_block(*t) == channel_block(out))
      inputs.push_back(id);
  }
  return inputs;
}

}  // namespace tilewright::graph
