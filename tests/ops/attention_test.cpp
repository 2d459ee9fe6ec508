// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

const graph::Constant kNone = nullptr;

TEST(Attention, SharesKeyHeadsAndMasksTheFuture) {
  // Two query heads on one key head; equal scores, so that the result is a mean of values.
  const auto q = floats({1, 2, 2, 1}, {0, 0, 0, 0});
  const auto k = floats({1, 1, 2, 1}, {1, 2}), v = floats({1, 1, 2, 1}, {10, 30});
  const TestNode node{.op = "Attention", .opset = 24, .attributes = {{"is_causal", int64_t{1}}}};
  EXPECT_EQ(numbers(run_node(node, {q, k, v})[0]), (Numbers{10, 20, 10, 20}));
}

TEST(Attention, PutsThePastBeforeTheKeys) {
  const auto one = floats({1, 1, 1, 1}, {0});
  const auto y = run_node({.op = "Attention", .opset = 24, .outputs = 3},
                          {one, one, floats({1, 1, 1, 1}, {4}), kNone, floats({1, 1, 1, 1}, {7}),
                           floats({1, 1, 1, 1}, {2})});
  EXPECT_EQ(numbers(y[0]), (Numbers{3}));
  EXPECT_EQ(numbers(y[1]), (Numbers{7, 0}));
  EXPECT_EQ(numbers(y[2]), (Numbers{2, 4}));
}

TEST(Attention, RowsThatAreMaskedAltogetherGiveZero) {
  const auto x = floats({1, 1, 1, 1}, {1});
  const auto y =
      run_node({.op = "Attention", .opset = 24}, {x, x, x, ints({1, 1}, {0}, ir::Elem::Bool)});
  EXPECT_EQ(numbers(y[0]), (Numbers{0}));
}

TEST(Attention, TakesHeadsPackedInThreeDimensions) {
  const auto y =
      run_node({.op = "Attention",
                .opset = 24,
                .attributes = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}},
               {floats({1, 1, 2}, {1, 1}), floats({1, 1, 2}, {1, 1}), floats({1, 1, 2}, {5, 6})});
  EXPECT_EQ(y[0]->shape, (Ints{1, 1, 2}));
  EXPECT_EQ(numbers(y[0]), (Numbers{5, 6}));
}

TEST(RotaryEmbedding, TurnsPairsAndLeavesTheRest) {
  const auto cos = floats({1, 1, 1}, {0}), sin = floats({1, 1, 1}, {1});
  const auto run = [&](int64_t interleaved) {
    return numbers(run_node(
        {.op = "RotaryEmbedding",
         .opset = 23,
         .attributes = {{"rotary_embedding_dim", int64_t{2}}, {"interleaved", interleaved}}},
        {floats({1, 1, 1, 3}, {1, 2, 3}), cos, sin})[0]);
  };
  EXPECT_EQ(run(0), (Numbers{-2, 1, 3}));
  EXPECT_EQ(run(1), (Numbers{-2, 1, 3}));
}

TEST(LinearAttention, SumsOuterProducts) {
  const auto y =
      run_node({.op = "LinearAttention",
                .opset = 27,
                .attributes = {{"q_num_heads", int64_t{1}},
                               {"kv_num_heads", int64_t{1}},
                               {"scale", 1.F},
                               {"update_rule", std::string("linear")}},
                .outputs = 2},
               {floats({1, 2, 1}, {1, 2}), floats({1, 2, 1}, {3, 4}), floats({1, 2, 1}, {5, 6})});
  EXPECT_EQ(numbers(y[0]), (Numbers{15, 78}));
  EXPECT_EQ(numbers(y[1]), (Numbers{39}));
}

}  // namespace
}  // namespace tilewright::ops
