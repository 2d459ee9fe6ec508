// SPDX-License-Identifier: Apache-2.0
// What must be known before a node can run. Its inputs, and besides what the symbols in its types
// are read from: a node between `%n = …` and a dimension that is element 0 of `%n`.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tilewright::graph {

/// A kernel computes it: tensor expressions or loops. Views are not computed, though they could be.
bool is_computed(const OpDef& op);

/// Calls f(id) for every value that the node or its bodies mention as an input or result.
template <class F>
void for_each_input(const Node& node, F&& f) {
  for (const ValueId id : node.inputs)
    if (id != kNoValue) f(id);
  for (const Function& body : node.bodies) {
    for (const Node& inner : body.nodes) for_each_input(inner, f);
    for (const ValueId id : body.outputs) f(id);
  }
}

/// Calls f(id) for every value that the node makes, and that its bodies make or take.
template <class F>
void for_each_made(const Node& node, F&& f) {
  for (const ValueId id : node.outputs)
    if (id != kNoValue) f(id);
  for (const Function& body : node.bodies) {
    for (const ValueId id : body.inputs) f(id);
    for (const Node& inner : body.nodes) for_each_made(inner, f);
  }
}

class Dependence {
 public:
  /// The graph may get symbols that definitions ask for.
  explicit Dependence(Graph& graph) : graph_(graph) {}

  /// Symbols that a formula mentions, by their places in the graph's list; perhaps several times.
  void symbols(const ir::Expr& e, std::vector<size_t>& out);
  /// The value that a symbol is read from. One that follows from others gives none, and adds those.
  ValueId source(size_t symbol, std::vector<size_t>& symbols);
  /// All values that the symbols are read from, by way of others too. Leaves out what was followed
  /// before, by symbol, and adds to that.
  std::vector<ValueId> sources(std::vector<size_t> symbols, std::vector<bool>& followed);

  /// Does the node read input i? A shape that is known as formulas is taken from those, and a view
  /// takes nothing but its first input.
  bool reads(const Node& node, size_t i);

  struct Needs {
    std::vector<ValueId> data;   // read by it or by its bodies
    std::vector<ValueId> sizes;  // must be known before it starts
    /// Likewise, and what they follow from: in chains of thousands all of that, listed for each
    /// node, would be without end. Some may be read from what the node itself makes.
    std::vector<size_t> symbols;
  };
  /// Values from outside of the node, perhaps several times.
  Needs needs(const Node& node);

 private:
  void collect(const Node& node, Needs& out);

  Graph& graph_;
};

/// An integer tensor so small that operators may take single elements of it as sizes.
bool may_give_sizes(const Value& value);

}  // namespace tilewright::graph
