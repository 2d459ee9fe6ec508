// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

constexpr ir::Elem kU8 = ir::Elem::U8;

TEST(DynamicQuantize, SpansZeroAndTheExtremes) {
  const auto y = run_node({.op = "DynamicQuantizeLinear", .outputs = 3, .symbolic = true},
                          {floats({3}, {-1, 0, 1.55})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{0, 100, 255}));
  EXPECT_NEAR(numbers(y[1])[0], 0.01, 1e-7);
  EXPECT_EQ(numbers(y[2])[0], 100);
}

TEST(QLinearMatMul, ScalesSumsOfIntegers) {
  // ([[3]] - 1) * 0.5 times ([[5, 7]] - 1) * 0.25, in steps of 0.125 from 10 on
  const auto y = run_node(
      {.op = "QLinearMatMul"},
      {ints({1, 1}, {3}, kU8), floats({}, {0.5}), ints({}, {1}, kU8), ints({1, 2}, {5, 7}, kU8),
       floats({}, {0.25}), ints({}, {1}, kU8), floats({}, {0.125}), ints({}, {10}, kU8)});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{18, 22}));
}

TEST(QLinearMatMul, TakesScalesOfColumns) {
  const auto y = run_node(
      {.op = "QLinearMatMul"},
      {ints({1, 1}, {2}, kU8), floats({}, {1}), ints({}, {0}, kU8), ints({1, 2}, {3, 3}, kU8),
       floats({2}, {1, 2}), ints({2}, {0, 1}, kU8), floats({}, {1}), ints({}, {0}, kU8)});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{6, 8}));
}

TEST(QLinearConv, AddsTheBiasBeforeScaling) {
  const auto y =
      run_node({.op = "QLinearConv"},
               {ints({1, 1, 1, 2}, {3, 4}, kU8), floats({}, {1}), ints({}, {1}, kU8),
                ints({2, 1, 1, 1}, {1, 2}, kU8), floats({2}, {1, 0.5}), ints({}, {0}, kU8),
                floats({}, {1}), ints({}, {5}, kU8), ints({2}, {10, 20}, ir::Elem::I32)});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{17, 18, 17, 18}));
}

TEST(QLinearAdd, ComputesOnWhatTheValuesStandFor) {
  const auto y = run_node(
      {.op = "QLinearAdd", .opset = 1, .domain = "com.microsoft"},
      {ints({2}, {2, 4}, kU8), floats({}, {0.5}), ints({}, {0}, kU8), ints({2}, {1, 1}, kU8),
       floats({}, {2}), ints({}, {0}, kU8), floats({}, {1}), ints({}, {1}, kU8)});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{4, 5}));
}

TEST(MatMulNBits, UnpacksFromTheLowBits) {
  // Rows 1 2 and 3 4 less 8, a scale for each row.
  const auto y =
      run_node({.op = "MatMulNBits",
                .opset = 1,
                .attributes = {{"K", int64_t{2}},
                               {"N", int64_t{2}},
                               {"bits", int64_t{4}},
                               {"block_size", int64_t{16}}},
                .domain = "com.microsoft"},
               {floats({1, 2}, {1, 10}),
                ints({2, 1, 8}, {0x21, 0, 0, 0, 0, 0, 0, 0, 0x43, 0, 0, 0, 0, 0, 0, 0}, kU8),
                floats({2}, {1, 2})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{-7 - 60, 2 * (-5 - 40)}));
}

/// One row of weights of two bits: 1 2 3 0, 3 and what is behind K, in blocks of four.
std::vector<graph::Constant> two_bits() {
  return {floats({1, 5}, {1, 10, 100, 1000, 10000}), ints({1, 2, 1}, {0b00111001, 0b11111111}, kU8),
          floats({2}, {1, 2})};
}

TestNode two_bits_node(std::vector<size_t> constants = {}) {
  return {.op = "MatMulNBits",
          .opset = 1,
          .attributes = {{"K", int64_t{5}},
                         {"N", int64_t{1}},
                         {"bits", int64_t{2}},
                         {"block_size", int64_t{4}}},
          .domain = "com.microsoft",
          .constants = std::move(constants)};
}

TEST(MatMulNBits, TakesNothingFromBehindK) {
  EXPECT_EQ(numbers(run_node(two_bits_node(), two_bits())[0]),
            (std::vector<double>{-1 + 0 + 100 - 2000 + 2 * 10000}));
}

TEST(MatMulNBits, TakesPackedZeroPointsAndGroups) {
  std::vector<graph::Constant> inputs = two_bits();
  inputs.push_back(ints({1}, {0b1001}, kU8));  // 1, then 2
  EXPECT_EQ(numbers(run_node(two_bits_node(), inputs)[0]),
            (std::vector<double>{0 + 10 + 200 - 1000 + 2 * 10000}));
  inputs.push_back(ints({5}, {1, 0, 0, 0, 0}, ir::Elem::I32));
  EXPECT_EQ(numbers(run_node(two_bits_node({4}), inputs)[0]),
            (std::vector<double>{-2 + 10 + 200 - 1000 + 20000}));
}

}  // namespace
}  // namespace tilewright::ops
