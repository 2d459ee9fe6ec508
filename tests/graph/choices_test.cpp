// SPDX-License-Identifier: Apache-2.0
#include "graph/choices.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::graph {
namespace {

std::vector<CostTable> random_costs(size_t count, size_t tables, std::mt19937& rng) {
  std::vector<CostTable> out;
  for (size_t i = 0; i < tables; ++i) {
    CostTable t;
    const size_t arity = 1 + rng() % 3;
    while (t.vars.size() < arity) {
      const size_t v = rng() % count;
      if (std::ranges::find(t.vars, v) == t.vars.end()) t.vars.push_back(v);
    }
    for (size_t at = 0; at < size_t{1} << arity; ++at)
      t.table.push_back(static_cast<double>(rng() % 100));
    out.push_back(t);
  }
  return out;
}

double cost_of(const std::vector<CostTable>& costs, const std::vector<bool>& chosen) {
  double sum = 0;
  for (const CostTable& t : costs) {
    size_t at = 0;
    for (size_t i = 0; i < t.vars.size(); ++i) at |= static_cast<size_t>(chosen[t.vars[i]]) << i;
    sum += t.table[at];
  }
  return sum;
}

TEST(Choices, FindsTheCheapestOfAllCombinations) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    const size_t count = 3 + rng() % 8;
    const std::vector<CostTable> costs = random_costs(count, count + rng() % 10, rng);
    double least = 1e300;
    for (size_t at = 0; at < size_t{1} << count; ++at) {
      std::vector<bool> chosen(count);
      for (size_t i = 0; i < count; ++i) chosen[i] = at >> i & 1;
      least = std::min(least, cost_of(costs, chosen));
    }
    const Choices got = cheapest(count, costs);
    EXPECT_TRUE(got.exact);
    EXPECT_EQ(got.cost, least);
    EXPECT_EQ(cost_of(costs, got.chosen), least);
  }
}

TEST(Choices, StaysCheapWhereTooManyHangTogether) {
  std::mt19937 rng(2);
  const std::vector<CostTable> costs = random_costs(40, 400, rng);
  const Choices got = cheapest(40, costs, 4);
  EXPECT_FALSE(got.exact);
  EXPECT_EQ(cost_of(costs, got.chosen), got.cost);
  EXPECT_LE(got.cost, cost_of(costs, std::vector<bool>(40)));
}

TEST(Choices, AThousandInARow) {
  std::vector<CostTable> costs;
  for (size_t i = 0; i + 1 < 1000; ++i) costs.push_back({{i, i + 1}, {1, 5, 5, 0}});
  costs.push_back({{0}, {0, 100}});
  const Choices got = cheapest(1000, costs);
  EXPECT_EQ(got.cost, 5);
  EXPECT_FALSE(got.chosen[0]);
  EXPECT_TRUE(got.chosen[1]);
}

}  // namespace
}  // namespace tilewright::graph
