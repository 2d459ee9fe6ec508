// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TestNode microsoft(std::string op, std::vector<std::pair<std::string, graph::OnnxAttr>> attributes,
                   size_t outputs) {
  return {.op = std::move(op),
          .opset = 1,
          .attributes = std::move(attributes),
          .outputs = outputs,
          .domain = "com.microsoft"};
}

double weight(double a, double b) { return std::exp(a) / (std::exp(a) + std::exp(b)); }

TEST(ContribAttention, SplitsTheProductWithTheWeights) {
  // One head of size 1; q = x, k = x, v = 10 x.
  const auto y =
      run_node(microsoft("Attention", {{"num_heads", int64_t{1}}}, 1),
               {floats({1, 2, 1}, {1, 2}), floats({1, 3}, {1, 1, 10}), floats({3}, {0, 0, 0})});
  const double w = weight(1, 2), w2 = weight(2, 4);
  EXPECT_NEAR(numbers(y[0])[0], 10 * w + 20 * (1 - w), 1e-4);
  EXPECT_NEAR(numbers(y[0])[1], 10 * w2 + 20 * (1 - w2), 1e-4);
}

TEST(ContribAttention, MasksKeysByTheirLength) {
  const auto y = run_node(microsoft("MultiHeadAttention", {{"num_heads", int64_t{1}}}, 1),
                          {floats({1, 1, 1}, {1}), floats({1, 2, 1}, {1, 5}),
                           floats({1, 2, 1}, {3, 100}), nullptr, ints({1}, {1}, ir::Elem::I32)});
  EXPECT_NEAR(numbers(y[0])[0], 3, 1e-5);
}

TEST(ContribAttention, AppendsToTheCacheOfGroups) {
  // Two query heads share one key head; one token after a past of one.
  const auto y =
      run_node(microsoft("GroupQueryAttention",
                         {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}}, 3),
               {floats({1, 1, 2}, {1, 2}), floats({1, 1, 1}, {2}), floats({1, 1, 1}, {10}),
                floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {20}),
                ints({1}, {1}, ir::Elem::I32), ints({}, {2}, ir::Elem::I32)});
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{1, 2}));
  EXPECT_EQ(numbers(y[2]), (std::vector<double>{20, 10}));
  const double w = weight(1, 2), w2 = weight(2, 4);
  EXPECT_NEAR(numbers(y[0])[0], 20 * w + 10 * (1 - w), 1e-4);
  EXPECT_NEAR(numbers(y[0])[1], 20 * w2 + 10 * (1 - w2), 1e-4);
}

TEST(ContribAttention, DoesNotSeeLaterTokensOfAPrompt) {
  const auto y =
      run_node(microsoft("GroupQueryAttention",
                         {{"num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}}, 1),
               {floats({1, 2, 1}, {1, 1}), floats({1, 2, 1}, {1, 1}), floats({1, 2, 1}, {4, 8}),
                nullptr, nullptr, ints({1}, {1}, ir::Elem::I32), ints({}, {2}, ir::Elem::I32)});
  EXPECT_NEAR(numbers(y[0])[0], 4, 1e-5);
  EXPECT_NEAR(numbers(y[0])[1], 6, 1e-5);
}

TEST(ContribMath, InvertsWithPivots) {
  const auto y = run_node(microsoft("Inverse", {}, 1), {floats({2, 2}, {0, 2, 4, 0})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{0, 0.25, 0.5, 0}));
}

TEST(ContribMath, MeasuresDistances) {
  const auto y = run_node(microsoft("CDist", {{"metric", std::string("euclidean")}}, 1),
                          {floats({1, 2}, {0, 0}), floats({2, 2}, {3, 4, 0, 1})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{5, 1}));
}

}  // namespace
}  // namespace tilewright::ops
