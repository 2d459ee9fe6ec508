// SPDX-License-Identifier: Apache-2.0
// Places in one arena for values that do not all live at once.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::graph {

/// Memory that is in use from step `first` to step `last`, both included.
struct MemoryItem {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // by item
  /// By item: those that it stands on. Offset = the greatest of their ends, rounded up, or 0. This
  /// holds for every choice of sizes, so that a plan made for likely sizes serves all others.
  std::vector<std::vector<int>> below;
  std::vector<int> order;  // items, each after those it stands on
  int64_t bytes = 0;       // of the arena
  int64_t live_bytes = 0;  // the most that is in use at one step: no plan needs less
};

constexpr int64_t kMemoryAlignment = 64;

/// Sizes count rounded up to the alignment.
MemoryPlan plan_memory(const std::vector<MemoryItem>& items);

/// The places, and the size of the arena, when the items have other sizes.
struct MemoryPlaces {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
MemoryPlaces places_for(const MemoryPlan& plan, const std::vector<int64_t>& bytes);

}  // namespace tilewright::graph
