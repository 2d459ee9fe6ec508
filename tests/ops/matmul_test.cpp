// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(MatMul, BroadcastsStacksOfSymbolicSizes) {
  const auto a = floats({2, 1, 1, 2}, {1, 2, 3, 4});
  const auto b = floats({3, 2, 1}, {1, 1, 2, 0, 0, 3});
  const auto y = run_node({.op = "MatMul"}, {a, b});
  EXPECT_EQ(y[0]->shape, (Ints{2, 3, 1, 1}));
  EXPECT_EQ(numbers(y[0]), (Numbers{3, 2, 6, 7, 6, 12}));
  const auto m = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers(run_node({.op = "MatMul", .symbolic = true}, {m, m})[0]),
            (Numbers{7, 10, 15, 22}));
}

TEST(MatMul, RepeatsAStackThatTheRunTellsIsOne) {
  const auto a = floats({1, 1, 2}, {1, 2});
  const auto b = floats({3, 2, 1}, {1, 1, 2, 0, 0, 3});
  const auto y = run_node({.op = "MatMul", .constants = {1}, .symbolic = true}, {a, b});
  EXPECT_EQ(y[0]->shape, (Ints{3, 1, 1}));
  EXPECT_EQ(numbers(y[0]), (Numbers{3, 2, 6}));
}

TEST(MatMul, TakesVectorsOnEitherSide) {
  const auto v = floats({2}, {1, 2});
  const auto m = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(numbers(run_node({.op = "MatMul"}, {v, m})[0]), (Numbers{9, 12, 15}));
  const auto dot = run_node({.op = "MatMul"}, {v, v});
  EXPECT_TRUE(dot[0]->shape.empty());
  EXPECT_EQ(numbers(dot[0]), (Numbers{5}));
}

TEST(MatMul, SumsOverNothingToZero) {
  const auto y =
      run_node({.op = "MatMul", .symbolic = true}, {floats({2, 0}, {}), floats({0, 1}, {})});
  EXPECT_EQ(numbers(y[0]), (Numbers{0, 0}));
}

TEST(MatMul, RefusesSumsOfDifferentLength) {
  const Diagnostic d = diagnostic_of(
      [] { run_node({.op = "MatMul"}, {floats({1, 2}, {1, 2}), floats({3, 1}, {1, 2, 3})}); });
  EXPECT_EQ(d.code, "graph.shape.mismatch");
}

TEST(Gemm, TransposesScalesAndAddsAColumn) {
  const auto y = run_node(
      {.op = "Gemm", .attributes = {{"transA", int64_t{1}}, {"alpha", 2.F}, {"beta", 0.5F}}},
      {floats({1, 2}, {1, 2}), floats({1, 2}, {3, 4}), floats({2, 1}, {10, 20})});
  EXPECT_EQ(numbers(y[0]), (Numbers{11, 13, 22, 26}));
}

TEST(Gemm, RefusesABiasThatIsTooWide) {
  const Diagnostic d = diagnostic_of([] {
    run_node({.op = "Gemm"}, {floats({1, 1}, {1}), floats({1, 1}, {1}), floats({1, 1, 1}, {1})});
  });
  EXPECT_EQ(d.code, "ops.matmul.bias");
}

TEST(MatMulInteger, SubtractsZeroPointsOfRowsAndColumns) {
  const auto u8 = [](Ints shape, const Ints& v) { return ints(shape, v, ir::Elem::U8); };
  const auto y = run_node({.op = "MatMulInteger"}, {u8({2, 1}, {5, 7}), u8({1, 2}, {2, 3}),
                                                    u8({2}, {5, 6}), u8({2}, {1, 4})});
  EXPECT_EQ(y[0]->elem, ir::Elem::I32);
  EXPECT_EQ(numbers(y[0]), (Numbers{0, 0, 1, -1}));
}

}  // namespace
}  // namespace tilewright::ops
