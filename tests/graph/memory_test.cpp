// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.h"

#include <gtest/gtest.h>
#include <random>

namespace tilewright::graph {
namespace {

bool overlap_in_time(const MemoryItem& a, const MemoryItem& b) {
  return a.first <= b.last && b.first <= a.last;
}

void expect_disjoint(const std::vector<MemoryItem>& items, const std::vector<int64_t>& offsets,
                     const std::vector<int64_t>& bytes) {
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (overlap_in_time(items[i], items[j])) {
        EXPECT_TRUE(offsets[i] + bytes[i] <= offsets[j] || offsets[j] + bytes[j] <= offsets[i])
            << i << " and " << j;
      }
}

std::vector<MemoryItem> random_items(std::mt19937& random, int count) {
  std::vector<MemoryItem> items;
  for (int i = 0; i < count; ++i) {
    const int life =
        random() % 10 == 0 ? static_cast<int>(random() % 40) : 1 + static_cast<int>(random() % 3);
    items.push_back({static_cast<int64_t>(random() % 100 * 50), i, i + life});
  }
  return items;
}

TEST(PlanMemory, ReusesWhatIsOver) {
  const MemoryPlan plan = plan_memory({{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}});
  EXPECT_EQ(plan.bytes, 2048);  // two at a time, rounded to 64 bytes
  EXPECT_EQ(plan.live_bytes, 2048);
}

TEST(PlanMemory, PutsAResidualAside) {
  const MemoryPlan plan = plan_memory({{64, 0, 4}, {640, 1, 2}, {640, 2, 3}, {64, 3, 4}});
  EXPECT_EQ(plan.bytes, plan.live_bytes);
}

TEST(PlanMemory, TakesNothing) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.live_bytes, 0);
}

TEST(PlanMemory, KeepsRivalsApartForAllSizes) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const std::vector<MemoryItem> items = random_items(random, 60);
    const MemoryPlan plan = plan_memory(items);
    std::vector<int64_t> bytes, others;
    for (const MemoryItem& item : items) {
      bytes.push_back(item.bytes);
      others.push_back(static_cast<int64_t>(random() % 5000));
    }
    expect_disjoint(items, plan.offsets, bytes);
    const MemoryPlaces places = places_for(plan, others);
    expect_disjoint(items, places.offsets, others);
    for (size_t i = 0; i < items.size(); ++i)
      EXPECT_LE(places.offsets[i] + others[i], places.bytes);
    EXPECT_EQ(places_for(plan, bytes).bytes, plan.bytes);
  }
}

TEST(PlanMemory, NeedsNoMoreThanMustLiveAtOnceInALadder) {
  // An encoder whose results wait for the decoder, in reverse order: a U-Net.
  std::vector<MemoryItem> items;
  for (int i = 0; i < 20; ++i) items.push_back({(20 - i) * 1000, i, 40 - i});
  for (int i = 0; i < 40; ++i) items.push_back({1000 + (i * 7919) % 5000, i, i + 1});
  const MemoryPlan plan = plan_memory(items);
  EXPECT_LE(static_cast<double>(plan.bytes), 1.02 * static_cast<double>(plan.live_bytes));
}

TEST(PlanMemory, StaysNearWhatMustLiveAtOnce) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    const MemoryPlan plan = plan_memory(random_items(random, 120));
    EXPECT_GE(plan.bytes, plan.live_bytes);
    EXPECT_LE(static_cast<double>(plan.bytes), 1.25 * static_cast<double>(plan.live_bytes));
  }
}

}  // namespace
}  // namespace tilewright::graph
