// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/order.h"

#include <unordered_set>

#include "frontend/onnx/names.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::frontend::onnx {
namespace {

[[noreturn]] void refuse(std::string_view code, std::string message, std::vector<std::string> notes,
                         std::string help) {
  throw Error({.code = code,
               .at = {},
               .message = std::move(message),
               .notes = std::move(notes),
               .help = std::move(help)});
}

}  // namespace

/// Names that the graph uses and does not make: those of graphs around it.
const std::vector<std::string_view>& NodeOrder::free_names(const GraphProto& graph) {
  const auto known = free_.find(&graph);
  if (known != free_.end()) return known->second;
  std::unordered_set<std::string_view> own, seen;
  for (const ValueInfoProto& input : graph.input) own.insert(input.name);
  for (const TensorProto& t : graph.initializer) own.insert(t.name);
  for (const SparseTensorProto& t : graph.sparse_initializer) own.insert(t.values.name);
  for (const NodeProto& node : graph.node) own.insert(node.output.begin(), node.output.end());
  std::vector<std::string_view> free;
  const auto use = [&](std::string_view name) {
    if (!name.empty() && !own.contains(name) && seen.insert(name).second) free.push_back(name);
  };
  for (const NodeProto& node : graph.node)
    for (const std::string_view name : uses_of(node)) use(name);
  for (const ValueInfoProto& output : graph.output) use(output.name);
  return free_[&graph] = std::move(free);
}

std::vector<std::string_view> NodeOrder::uses_of(const NodeProto& node) {
  std::vector<std::string_view> uses = node.input;
  for (const AttributeProto& attribute : node.attribute)
    if (attribute.g) {
      const std::vector<std::string_view>& inner = free_names(*attribute.g);
      uses.insert(uses.end(), inner.begin(), inner.end());
    }
  return uses;
}

std::vector<const NodeProto*> NodeOrder::sorted(const std::vector<NodeProto>& nodes,
                                                std::string_view place,
                                                FunctionRef<bool(std::string_view)> outside) {
  std::unordered_map<std::string_view, const NodeProto*> makers;
  for (const NodeProto& node : nodes)
    for (const std::string_view name : node.output)
      if (!name.empty() && !makers.emplace(name, &node).second)
        refuse("frontend.onnx.name_twice", str("two nodes make the value `", shortened(name), "`"),
               {str("the first is ", origin_text(*makers[name], place)),
                str("the second is ", origin_text(node, place))},
               "every value of a graph has a name of its own: rename one of them");

  enum class State : uint8_t { New, Open, Done };
  std::vector<State> states(nodes.size(), State::New);
  const auto state = [&](const NodeProto& node) -> State& {
    return states[static_cast<size_t>(&node - nodes.data())];
  };
  struct Visit {
    const NodeProto* node;
    std::vector<std::string_view> uses;
    size_t next = 0;
  };
  std::vector<const NodeProto*> order;
  std::vector<Visit> path;  // not recursion: chains are as long as models
  const auto enter = [&](const NodeProto& node) {
    state(node) = State::Open;
    path.push_back({.node = &node, .uses = uses_of(node)});
  };
  for (const NodeProto& first : nodes) {
    if (state(first) == State::New) enter(first);
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next == visit.uses.size()) {
        state(*visit.node) = State::Done;
        order.push_back(visit.node);
        path.pop_back();
        continue;
      }
      const std::string_view name = visit.uses[visit.next++];
      if (name.empty()) continue;
      const auto maker = makers.find(name);
      if (maker == makers.end()) {
        if (!outside(name))
          refuse("frontend.onnx.dangling",
                 str(origin_text(*visit.node, place), " uses `", shortened(name),
                     "`, which nothing makes"),
                 {"it is no output of a node, no input and no initialiser of the graph"},
                 "check the name, or export the model again");
      } else if (state(*maker->second) == State::New) {
        enter(*maker->second);
      } else if (state(*maker->second) == State::Open) {
        std::vector<std::string> notes;
        for (size_t i = path.size(); i-- > 0 && notes.size() < 8;) {
          notes.push_back(origin_text(*path[i].node, place));
          if (path[i].node == maker->second) break;
        }
        refuse("frontend.onnx.cycle",
               str("the nodes of the model form a cycle through `", shortened(name), "`"),
               std::move(notes), "a model is free of cycles; for repetition use Loop or Scan");
      }
    }
  }
  return order;
}

}  // namespace tilewright::frontend::onnx
