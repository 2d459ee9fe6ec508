// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(LayerNormalization, GivesMeanAndInverseDeviation) {
  const auto y = run_node({.op = "LayerNormalization",
                           .attributes = {{"epsilon", 0.F}},
                           .outputs = 3,
                           .symbolic = false},
                          {floats({1, 2}, {1, 5}), floats({2}, {1, 10}), floats({2}, {0, 1})});
  EXPECT_EQ(numbers(y[0]), (Numbers{-1, 11}));
  EXPECT_EQ(numbers(y[1]), (Numbers{3}));
  EXPECT_EQ(numbers(y[2]), (Numbers{0.5}));
  EXPECT_EQ(y[1]->shape, (Ints{1, 1}));
}

TEST(BatchNormalization, UsesTheGivenStatistics) {
  const auto y = run_node({.op = "BatchNormalization", .attributes = {{"epsilon", 0.F}}},
                          {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2}, {1, 2}),
                           floats({2}, {0, 1}), floats({2}, {1, 3}), floats({2}, {4, 1})});
  EXPECT_EQ(numbers(y[0]), (Numbers{0, 0.5, 1, 3}));
}

TEST(BatchNormalization, TrainingMovesTheRunningStatistics) {
  const auto y =
      run_node({.op = "BatchNormalization",
                .attributes = {{"epsilon", 0.F}, {"momentum", 0.5F}, {"training_mode", int64_t{1}}},
                .outputs = 3},
               {floats({2, 1, 1}, {1, 3}), floats({1}, {1}), floats({1}, {0}), floats({1}, {0}),
                floats({1}, {3})});
  EXPECT_EQ(numbers(y[0]), (Numbers{-1, 1}));
  EXPECT_EQ(numbers(y[1]), (Numbers{1}));
  EXPECT_EQ(numbers(y[2]), (Numbers{2}));
}

TEST(GroupNormalization, ScalesByGroupInOpset18AndByChannelLater) {
  const auto x = floats({1, 4, 1}, {1, 3, 2, 6});
  const TestNode node{.op = "GroupNormalization",
                      .opset = 18,
                      .attributes = {{"num_groups", int64_t{2}}, {"epsilon", 0.F}}};
  EXPECT_EQ(numbers(run_node(node, {x, floats({2}, {1, 10}), floats({2}, {0, 0})})[0]),
            (Numbers{-1, 1, -10, 10}));
  TestNode later = node;
  later.opset = 21;
  EXPECT_EQ(numbers(run_node(later, {x, floats({4}, {1, 2, 3, 4}), floats({4}, {0, 0, 0, 1})})[0]),
            (Numbers{-1, 2, -3, 5}));
}

TEST(InstanceNormalization, TakesSymbolicSizes) {
  const auto y =
      run_node({.op = "InstanceNormalization", .attributes = {{"epsilon", 0.F}}, .symbolic = true},
               {floats({1, 1, 2}, {2, 6}), floats({1}, {1}), floats({1}, {0})});
  EXPECT_EQ(numbers(y[0]), (Numbers{-1, 1}));
}

TEST(LpNormalization, LeavesZeroAlone) {
  const auto y = run_node({.op = "LpNormalization"}, {floats({2, 2}, {3, 4, 0, 0})});
  const Numbers got = numbers(y[0]);
  EXPECT_NEAR(got[0], 0.6, 1e-6);
  EXPECT_NEAR(got[1], 0.8, 1e-6);
  EXPECT_EQ(got[2], 0);
}

}  // namespace
}  // namespace tilewright::ops
