// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/dependence.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"

namespace tilewright::graph {
namespace {

class Sweep {
 public:
  explicit Sweep(Graph& graph) : graph_(graph), dependence_(graph), live_(graph.values.size()) {}

  void function(Function& f) {
    for (const ValueId id : f.outputs) mark(id);
    for (const Check& c : f.checks) formula(c.condition);
    std::vector<Node> kept;
    for (auto n = f.nodes.rbegin(); n != f.nodes.rend(); ++n) {
      if (!wanted(*n)) continue;
      for (Function& body : n->bodies) function(body);
      const Dependence::Needs needs = dependence_.needs(*n);
      for (const ValueId id : needs.data) mark(id);
      for (const ValueId id : needs.sizes) mark(id);
      for (const ValueId id : dependence_.sources(needs.symbols, followed_)) mark(id);
      kept.push_back(std::move(*n));
    }
    std::reverse(kept.begin(), kept.end());
    removed_ = removed_ || kept.size() < f.nodes.size();
    f.nodes = std::move(kept);
  }

  bool removed() const { return removed_; }

  void formula(const ir::Expr& e) {
    std::vector<size_t> symbols;
    dependence_.symbols(e, symbols);
    for (const ValueId id : dependence_.sources(std::move(symbols), followed_)) mark(id);
  }

 private:
  void mark(ValueId id) { live_[static_cast<size_t>(id)] = true; }

  bool wanted(const Node& n) const {
    return std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId id) {
      return id != kNoValue && live_[static_cast<size_t>(id)] && !graph_.value(id).constant;
    });
  }

  Graph& graph_;
  Dependence dependence_;
  std::vector<bool> live_;
  std::vector<bool> followed_;  // by symbol
  bool removed_ = false;
};

}  // namespace

/// Removes nodes whose results nobody reads, or are all known; no operator does anything else.
///   before   %s: i64[2] = shape(%x)               // its elements are formulas: [n, 4]
///            %y: f32[n*4] = reshape(%x, %s)
///            %z: f32[n, 4] = neg(%x)
///            return %y
///   after    %y: f32[n*4] = reshape(%x, %s)
///            return %y
/// A check of sizes stays, and with it what its symbols are read from.
Graph remove_dead(Graph graph, PassContext& context) {
  Sweep sweep(graph);
  for (const Check& c : graph.checks) sweep.formula(c.condition);
  for (Function& f : graph.functions) sweep.function(f);
  context.unchanged = !sweep.removed();
  return graph;
}

}  // namespace tilewright::graph
