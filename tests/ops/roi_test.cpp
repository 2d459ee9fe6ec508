// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(MaxRoiPool, RoundsBinsOutwardsAndGivesZeroForEmptyOnes) {
  const auto x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto run = [&](const Numbers& roi) {
    return numbers(run_node({.op = "MaxRoiPool", .attributes = {{"pooled_shape", Ints{2, 2}}}},
                            {x, floats({1, 5}, roi)})[0]);
  };
  EXPECT_EQ(run({0, 0, 0, 2, 2}), (Numbers{5, 6, 8, 9}));  // bins of 1.5 overlap in the middle
  EXPECT_EQ(run({0, 1, 1, 2, 2}), (Numbers{5, 6, 8, 9}));
  EXPECT_EQ(run({0, 5, 5, 6, 6}), (Numbers{0, 0, 0, 0}));  // outside
  EXPECT_TRUE(std::isnan(run({1, 0, 0, 2, 2})[0]));        // there is no batch element 1
}

TEST(RoiAlign, SamplesAsManyPointsAsARegionCovers) {
  const auto x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const TestNode node{
      .op = "RoiAlign",
      .attributes = {{"coordinate_transformation_mode", std::string("output_half_pixel")}}};
  const auto y = run_node(node, {x, floats({1, 4}, {0, 0, 1, 1}), ints({1}, {0})});
  EXPECT_EQ(numbers(y[0]), (Numbers{2.5}));
}

TEST(RoiAlign, TakesNoRegions) {
  const auto y = run_node({.op = "RoiAlign", .symbolic = false},
                          {floats({1, 1, 1, 1}, {1}), floats({0, 4}, {}), ints({0}, {})});
  EXPECT_EQ(y[0]->shape, (Ints{0, 1, 1, 1}));
}

}  // namespace
}  // namespace tilewright::ops
