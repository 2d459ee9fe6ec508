// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "ops/attention.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;

using Renamed = std::unordered_map<ValueId, ValueId>;

Node renamed(Node node, const Renamed& names) {
  for (ValueId& id : node.inputs)
    if (const auto to = names.find(id); to != names.end()) id = to->second;
  for (Function& body : node.bodies)
    for (Node& inner : body.nodes) inner = renamed(std::move(inner), names);
  return node;
}

/// The subgraph of the attribute applied to `value`, as calls in place; `value` when there is none.
ValueId applied(const OnnxNode& n, Builder& g, std::string_view attribute, ValueId value) {
  if (!n.has_attr(attribute)) return value;
  const OnnxSubgraph& subgraph = n.attr_graph(attribute);
  if (subgraph.inputs() != 1 || subgraph.outputs() != 1)
    n.refuse(
        "ops.flex_attention.function",
        str(attribute, " has ", subgraph.inputs(), " inputs and ", subgraph.outputs(), " outputs"),
        "give a function of one tensor that gives one");
  const Type type = g.type(value);
  const Function body = subgraph.build(g, {type});
  const Renamed names = {{body.inputs[0], value}};
  for (const Node& node : body.nodes) g.add(renamed(node, names));
  const ValueId out = body.outputs[0] == body.inputs[0] ? value : body.outputs[0];
  if (!same(g.type(out), type))
    n.refuse("ops.flex_attention.function",
             str(attribute, " makes ", print(g.type(out)), " of ", print(type)),
             "let it keep the shape and the element type");
  return out;
}

ValueId cast(Builder& g, ValueId value, ir::Elem elem) {
  if (g.tensor(value).elem == elem) return value;
  return g.call(op("cast"), CastAttrs{.to = elem}, {value});
}

}  // namespace

void flex_attention_from_onnx(const OnnxNode& n, Builder& g) {
  for (const size_t i : {0, 1, 2})
    if (g.tensor(n.need(i)).rank() != 4)
      n.refuse("ops.flex_attention.rank", str("input ", i, " is ", print(g.type(n.in(i)))),
               "give batch, heads, times and head size");
  const ir::Elem elem = g.tensor(n.in(0)).elem;
  const ir::Elem usual = elem == ir::Elem::F64 ? elem : ir::Elem::F32;
  const ir::Elem precision = n.attr_elem("softmax_precision").value_or(usual);
  const AttentionAttrs attrs{.scale = n.attr_float("scale", 0), .elem = elem};
  ValueId value = g.call(op("attention_scores"), attrs, {n.in(0), n.in(1)});
  value = applied(n, g, "score_mod", cast(g, value, precision));
  value = g.call(softmax_op(), SoftmaxAttrs{.axis = -1}, {value});
  value = applied(n, g, "prob_mod", value);
  g.output(n, g.call(op("attention_mix"), attrs, {value, n.in(2)}));
}

}  // namespace tilewright::ops
