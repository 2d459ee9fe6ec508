// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <vector>

namespace tilewright::graph {

/// An acyclic graph of numbered nodes whose groups grow by merging, and always stay acyclic. The
/// groups are kept in an order in which each stands after those it depends on, so that a test for a
/// cycle looks only at the groups between two.
class GroupOrder {
 public:
  /// Node i depends on `producers[i]`, all of which stand before it in the order.
  GroupOrder(std::vector<std::vector<int>> producers, const std::vector<int>& order);

  /// The number of the group that holds the node.
  int group_of(int node) const { return group_[static_cast<size_t>(node)]; }
  /// The nodes of a group.
  const std::vector<int>& members(int group) const { return members_[static_cast<size_t>(group)]; }
  bool before(int a, int b) const { return label(a) < label(b); }

  enum class Outcome { Merged, Cycle, TooFar };
  /// Merges the group `consumer` into `producer`, on which it depends directly. TooFar: more than
  /// kMaxBetween groups stand between the two that would have to run before.
  Outcome merge(int producer, int consumer);
  static constexpr size_t kMaxBetween = 256;

  /// The groups in order.
  std::vector<int> order() const { return {order_.begin(), order_.end()}; }

 private:
  double label(int group) const { return labels_[static_cast<size_t>(group)]; }
  void move_before(int group, std::vector<int> others);
  void renumber();

  std::vector<std::vector<int>> producers_;
  std::vector<int> group_;
  std::vector<std::vector<int>> members_;
  std::vector<double> labels_;  // growing along the order
  std::list<int> order_;
  std::vector<std::list<int>::iterator> places_;
  std::vector<int> seen_;  // the search that last met a group
  int search_ = 0;
};

}  // namespace tilewright::graph
