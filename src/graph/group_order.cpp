// SPDX-License-Identifier: Apache-2.0
#include "graph/group_order.h"

#include <algorithm>

namespace tilewright::graph {

GroupOrder::GroupOrder(std::vector<std::vector<int>> producers, const std::vector<int>& order)
    : producers_(std::move(producers)),
      group_(producers_.size()),
      members_(producers_.size()),
      labels_(producers_.size()),
      places_(producers_.size()),
      seen_(producers_.size(), 0) {
  for (const int node : order) {
    const auto i = static_cast<size_t>(node);
    group_[i] = node;
    members_[i] = {node};
    places_[i] = order_.insert(order_.end(), node);
  }
  renumber();
}

void GroupOrder::renumber() {
  double next = 0;
  for (const int group : order_) labels_[static_cast<size_t>(group)] = next += 1;
}

/// Puts the others right before the group, in the order they have.
void GroupOrder::move_before(int group, std::vector<int> others) {
  if (others.empty()) return;
  std::sort(others.begin(), others.end(), [&](int a, int b) { return before(a, b); });
  const auto place = places_[static_cast<size_t>(group)];
  const double low = place == order_.begin() ? label(group) - 1 : label(*std::prev(place));
  const double step = (label(group) - low) / static_cast<double>(others.size() + 1);
  double next = low;
  for (const int other : others) {
    order_.splice(place, order_, places_[static_cast<size_t>(other)]);
    labels_[static_cast<size_t>(other)] = next += step;
  }
  if (step < 1e-9) renumber();
}

GroupOrder::Outcome GroupOrder::merge(int producer, int consumer) {
  ++search_;
  seen_[static_cast<size_t>(consumer)] = search_;
  std::vector<int> between, open{consumer};
  while (!open.empty()) {
    const int group = open.back();
    open.pop_back();
    for (const int node : members(group))
      for (const int from : producers_[static_cast<size_t>(node)]) {
        const int other = group_of(from);
        if (other == producer && group != consumer) return Outcome::Cycle;
        if (other == producer || seen_[static_cast<size_t>(other)] == search_ ||
            before(other, producer))
          continue;
        seen_[static_cast<size_t>(other)] = search_;
        between.push_back(other);
        open.push_back(other);
        if (between.size() > kMaxBetween) return Outcome::TooFar;
      }
  }
  move_before(producer, std::move(between));
  std::vector<int>& members = members_[static_cast<size_t>(producer)];
  std::vector<int>& moved = members_[static_cast<size_t>(consumer)];
  for (const int node : moved) group_[static_cast<size_t>(node)] = producer;
  members.insert(members.end(), moved.begin(), moved.end());
  std::sort(members.begin(), members.end());
  moved.clear();
  order_.erase(places_[static_cast<size_t>(consumer)]);
  return Outcome::Merged;
}

}  // namespace tilewright::graph
