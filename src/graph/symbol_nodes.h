// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/dependence.h"

namespace tilewright::graph {

/// What the numbered nodes of one function depend on by their symbols. A symbol that follows from
/// several nodes is a node itself: in a chain of thousands every one follows from all before it,
/// but needs an edge to its neighbours only.
class SymbolNodes {
 public:
  /// Numbers from `first` on are for symbols. `makers` has the numbers of those that make values,
  /// as far as nodes were asked about.
  SymbolNodes(Graph& graph, Dependence& dependence, const std::unordered_map<ValueId, int>& makers,
              int first)
      : graph_(graph), dependence_(dependence), makers_(makers), first_(first) {}

  /// The numbers that a node depends on which mentions the symbols.
  std::vector<int> needed(const Node& node, const std::vector<size_t>& symbols);

  /// What the symbols with numbers depend on, in the order of these.
  const std::vector<std::vector<int>>& producers() const { return producers_; }
  /// Values of the function that symbols are read from.
  const std::unordered_set<ValueId>& sources() const { return sources_; }

 private:
  static constexpr int kNone = -1, kUnknown = -2, kOwn = -3;

  void add(size_t symbol, const std::unordered_set<ValueId>& own, std::vector<int>& out);

  Graph& graph_;
  Dependence& dependence_;
  const std::unordered_map<ValueId, int>& makers_;
  const int first_;
  std::vector<int>
      numbers_;  // by symbol; kNone: it needs no node; kOwn: what the node itself makes
  std::vector<std::vector<int>> producers_;
  std::unordered_set<ValueId> sources_;
};

}  // namespace tilewright::graph
