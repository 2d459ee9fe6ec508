// SPDX-License-Identifier: Apache-2.0
// ONNX's Loop. What its body gives in each iteration is stacked; where only the run tells the rank
// of that, it is collected and joined:
//   before   ys = Loop(n, go, s) {(i, go, s) { …; return go, s, y: f32[*] }}
//   after    s, list = loop(n, go, s, empty) {(i, go, s, l) { …; return go, s, insert(l, y) }}
//            ys = join(list)
#include <algorithm>

#include "graph/onnx_node.h"
#include "ops/as_onnx.h"
#include "ops/control.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "support/str.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using ir::Elem;

struct Import {
  const OnnxNode& n;
  Builder& g;
  const OnnxSubgraph& graph;
  size_t carried;             // values that the model carries
  std::vector<bool> wrapped;  // which of them are carried as optionals
  std::vector<size_t> lists;  // results of the body that are collected

  Function plain(const std::vector<Type>& types);
  Function collecting(const std::vector<Type>& types);
};

/// What starts as an optional and is a plain value from then on is carried as an optional.
Function Import::plain(const std::vector<Type>& types) {
  std::vector<Type> inputs{tensor_of(Elem::I64, {}), tensor_of(Elem::Bool, {})};
  inputs.insert(inputs.end(), types.begin(), types.end());
  Function built = graph.build(g, inputs);
  for (size_t i = 0; i < carried; ++i) {
    wrapped[i] = types[i].optional() && !g.type(built.outputs[i + 1]).optional();
    if (!wrapped[i]) continue;
    g.begin_body("wrap");
    const ValueId some =
        g.call(op("optional"), op("optional").read_attrs({}), {built.outputs[i + 1]});
    Function wrap = g.end_body({some});
    built.nodes.push_back(std::move(wrap.nodes[0]));
    built.outputs[i + 1] = some;
  }
  return built;
}

/// The lists are carried behind the model's values.
Function Import::collecting(const std::vector<Type>& types) {
  const auto own = types.begin() + static_cast<ptrdiff_t>(carried);
  Function built = plain({types.begin(), own});
  std::vector<ValueId> inputs = built.inputs;
  g.begin_body(built.name);
  for (auto type = own; type != types.end(); ++type) inputs.push_back(g.body_input("items", *type));
  const std::vector<ValueId> made = g.splice(std::move(built));
  std::vector<ValueId> outputs(made.begin(), made.begin() + static_cast<ptrdiff_t>(carried) + 1);
  for (size_t k = 0; k < lists.size(); ++k)
    outputs.push_back(g.call(op("sequence_insert"), {}, {inputs[carried + 2 + k], made[lists[k]]}));
  for (size_t i = carried + 1; i < made.size(); ++i)
    if (std::ranges::count(lists, i) == 0) outputs.push_back(made[i]);
  Function body = g.end_body(outputs);
  body.inputs = std::move(inputs);
  return body;
}

}  // namespace

void loop_from_onnx(const OnnxNode& n, Builder& g) {
  const OnnxSubgraph& graph = n.attr_graph("body");
  const size_t carried = n.inputs.size() < 2 ? 0 : n.inputs.size() - 2;
  if (graph.inputs() != carried + 2 || graph.outputs() < carried + 1)
    n.refuse("ops.loop.body",
             str("the body has ", graph.inputs(), " inputs and ", graph.outputs(), " outputs for ",
                 carried, " carried values"),
             "give it the iteration, the condition and the carried values; let it return the "
             "condition, the carried values and what is stacked");
  std::vector<Type> types;
  for (size_t i = 0; i < carried; ++i) types.push_back(g.type(n.need(i + 2)));
  Import import{n, g, graph, carried, std::vector<bool>(carried, false), {}};
  const Builder::Checkpoint before = g.checkpoint();
  std::vector<Function> bodies;
  bodies.push_back(loop_body(g, types, [&](const auto& t) { return import.plain(t); }));
  std::vector<Elem> elems;
  for (size_t i = carried + 1; i < graph.outputs(); ++i)
    if (const UnrankedType* t = g.type(bodies[0].outputs[i]).unranked(); t && !t->strings) {
      import.lists.push_back(i);
      elems.push_back(t->elem);
    }
  std::vector<ValueId> inputs = n.inputs;
  inputs.resize(std::max<size_t>(inputs.size(), 2), kNoValue);
  if (!import.lists.empty()) {
    bodies.clear();
    g.rollback(before);
    for (const Elem elem : elems) {
      inputs.push_back(as_onnx(n, g, "SequenceEmpty", {}, {{"dtype", onnx_from_elem(elem)}}));
      types.push_back(g.type(inputs.back()));
    }
    bodies.push_back(loop_body(g, types, [&](const auto& t) { return import.collecting(t); }));
  }
  const std::vector<ValueId> y =
      g.calls(loop_op(), {}, inputs, graph.outputs() - 1, std::move(bodies));
  std::vector<ValueId> results;
  for (size_t i = 0; i < carried; ++i)
    results.push_back(import.wrapped[i] ? g.call(op("optional_get_element"), {}, {y[i]}) : y[i]);
  size_t list = carried, stack = carried + import.lists.size();
  for (size_t i = carried + 1; i < graph.outputs(); ++i)
    results.push_back(std::ranges::count(import.lists, i) == 0
                          ? y[stack++]
                          : as_onnx(n, g, "ConcatFromSequence", {y[list++]},
                                    {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}}));
  g.outputs(n, results);
}

}  // namespace tilewright::ops
