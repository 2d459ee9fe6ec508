// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  const auto y = run_node(
      {.op = "QuantizeLinear", .symbolic = true},
      {floats({6}, {1, 3, 5, -1000, 1000, 0}), floats({}, {2}), ints({}, {3}, ir::Elem::I8)});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{3, 5, 5, -128, 127, 3}));
}

TEST(Quantize, TakesScalesOfAnAxisAndOfBlocks) {
  const auto x = floats({2, 3}, {2, 4, 6, 8, 10, 12});
  const auto axis = run_node({.op = "QuantizeLinear", .attributes = {{"axis", int64_t{0}}}},
                             {x, floats({2}, {1, 2})});
  EXPECT_EQ(numbers(axis[0]), (std::vector<double>{2, 4, 6, 4, 5, 6}));
  const auto block = run_node(
      {.op = "QuantizeLinear", .attributes = {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}},
      {x, floats({2, 2}, {1, 2, 1, 4}), ints({2, 2}, {0, 0, 0, 1}, ir::Elem::U8)});
  EXPECT_EQ(numbers(block[0]), (std::vector<double>{2, 4, 3, 8, 10, 4}));
}

TEST(Quantize, KeepsSmallFloatsInRange) {
  const TestNode test{.op = "QuantizeLinear",
                      .attributes = {{"output_dtype", graph::onnx_from_elem(ir::Elem::F8E4M3)}}};
  const auto y = run_node(test, {floats({2}, {1e6, 3}), floats({}, {2})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{448, 1.5}));
}

TEST(Dequantize, IsTheInverse) {
  const auto y = run_node(
      {.op = "DequantizeLinear", .symbolic = true},
      {ints({3}, {0, 128, 255}, ir::Elem::U8), floats({}, {0.5}), ints({}, {128}, ir::Elem::U8)});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{-64, 0, 63.5}));
}

TEST(Quantize, RefusesAZeroPointOfAnotherType) {
  const Diagnostic e = diagnostic_of([] {
    run_node({.op = "DequantizeLinear"},
             {ints({1}, {0}, ir::Elem::U8), floats({}, {1}), ints({}, {0}, ir::Elem::I8)});
  });
  EXPECT_EQ(e.code, "ops.quantize.zero_point");
}

}  // namespace
}  // namespace tilewright::ops
