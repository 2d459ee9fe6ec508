// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

const graph::Constant kNone = nullptr;

/// One unit, h = x + h before: sums of what came before.
TestNode summing(const char* direction) {
  return {.op = "RNN",
          .attributes = {{"hidden_size", int64_t{1}},
                         {"direction", std::string(direction)},
                         {"activations", std::vector<std::string>{"Affine", "Affine"}}},
          .outputs = 2};
}

TEST(Rnn, GoesEitherWay) {
  const auto x = floats({3, 1, 1}, {1, 2, 3});
  const auto w = floats({1, 1, 1}, {1});
  const auto forward = run_node(summing("forward"), {x, w, w});
  EXPECT_EQ(numbers(forward[0]), (Numbers{1, 3, 6}));
  EXPECT_EQ(numbers(forward[1]), (Numbers{6}));
  const auto reverse = run_node(summing("reverse"), {x, w, w});
  EXPECT_EQ(numbers(reverse[0]), (Numbers{6, 5, 3}));
  const auto both = floats({2, 1, 1}, {1, 1});
  const auto y = run_node(summing("bidirectional"), {x, both, both});
  EXPECT_EQ(numbers(y[0]), (Numbers{1, 6, 3, 5, 6, 3}));
  EXPECT_EQ(numbers(y[1]), (Numbers{6, 6}));
}

TEST(Rnn, EndsEachSequenceAtItsLength) {
  const auto x = floats({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  const auto w = floats({1, 1, 1}, {1});
  const auto lengths = ints({2}, {2, 3}, ir::Elem::I32);
  const auto y = run_node(summing("forward"), {x, w, w, kNone, lengths});
  EXPECT_EQ(numbers(y[0]), (Numbers{1, 10, 3, 30, 0, 60}));
  EXPECT_EQ(numbers(y[1]), (Numbers{3, 60}));
  const auto reverse = run_node(summing("reverse"), {x, w, w, kNone, lengths});
  EXPECT_EQ(numbers(reverse[0]), (Numbers{3, 60, 2, 50, 0, 30}));
}

TEST(Rnn, WithoutTimesKeepsItsState) {
  TestNode node = summing("forward");
  node.symbolic = true;
  const auto w = floats({1, 1, 1}, {1});
  const auto y =
      run_node(node, {floats({0, 1, 1}, {}), w, w, kNone, kNone, floats({1, 1, 1}, {7})});
  EXPECT_EQ(numbers(y[1]), (Numbers{7}));
}

/// Gates of Affine(1, 0): the products of what they are given.
TEST(Lstm, CombinesGatesInOnnxOrder) {
  const auto y = run_node(
      {.op = "LSTM",
       .attributes = {{"hidden_size", int64_t{1}},
                      {"activations", std::vector<std::string>{"Affine", "Affine", "Affine"}}},
       .outputs = 3},
      {floats({1, 1, 1}, {1}), floats({1, 4, 1}, {2, 3, 5, 7}), floats({1, 4, 1}, {0, 0, 0, 0}),
       kNone, kNone, kNone, floats({1, 1, 1}, {10})});
  EXPECT_EQ(numbers(y[2]), (Numbers{64}));   // f c + i g = 5 * 10 + 2 * 7
  EXPECT_EQ(numbers(y[1]), (Numbers{192}));  // o * 64
}

TEST(Gru, ResetsBeforeOrAfterItsWeights) {
  const auto run = [](int64_t linear) {
    return numbers(run_node(
        {.op = "GRU",
         .attributes = {{"hidden_size", int64_t{1}},
                        {"linear_before_reset", linear},
                        {"activations", std::vector<std::string>{"Affine", "Affine"}}},
         .outputs = 2},
        {floats({1, 1, 1}, {1}), floats({1, 3, 1}, {0, 2, 0}), floats({1, 3, 1}, {0, 0, 3}),
         floats({1, 6}, {0, 0, 0, 0, 0, 1}), kNone, floats({1, 1, 1}, {10})})[1]);
  };
  EXPECT_EQ(run(0), (Numbers{61}));  // (2 * 10) * 3 + 1
  EXPECT_EQ(run(1), (Numbers{62}));  // 2 * (10 * 3 + 1)
}

TEST(Rnn, RefusesAnUnknownActivation) {
  const Diagnostic d = diagnostic_of([] {
    const auto w = floats({1, 1, 1}, {1});
    run_node({.op = "RNN", .attributes = {{"activations", std::vector<std::string>{"Step"}}}},
             {floats({1, 1, 1}, {1}), w, w});
  });
  EXPECT_EQ(d.code, "ops.recurrent.activations");
}

}  // namespace
}  // namespace tilewright::ops
