// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_work.h"

#include <gtest/gtest.h>

#include "driver/build_kernels.h"
#include "graph/parse.h"
#include "ops/all.h"

namespace tilewright::driver {
namespace {

std::optional<double> operations(const char* text,
                                 std::vector<std::optional<int64_t>> symbols = {}) {
  graph::Graph graph = graph::parse(text, ops::find);
  return float_operations(plain_kernels(graph).at(0).blocks, symbols);
}

TEST(FloatOperations, count_products_and_sums) {
  EXPECT_EQ(operations("graph main(%x: f32[5, 3], %w: f32[3, 7]) { "
                       "%y: f32[5, 7] = matmul(%x, %w) return %y }"),
            2 * 5 * 3 * 7);
}

TEST(FloatOperations, take_symbols_as_the_run_has_them) {
  constexpr const char* kText =
      "symbol n in 1..64 = dim(%x, 0) "
      "graph main(%x: f32[n, 3], %z: f32[n, 3]) { %y: f32[n, 3] = add(%x, %z) return %y }";
  EXPECT_EQ(operations(kText, {8}), 24);
  EXPECT_EQ(operations(kText, {std::nullopt}), std::nullopt);
}

TEST(FloatOperations, leave_integers_and_movements_out) {
  EXPECT_EQ(operations("graph main(%x: i32[4], %z: i32[4]) { %y: i32[4] = add(%x, %z) return %y }"),
            0);
  EXPECT_EQ(operations("graph main(%x: f32[4, 2]) { "
                       "%y: f32[2, 4] = transpose(%x) {axes = [1, 0]} return %y }"),
            0);
}

}  // namespace
}  // namespace tilewright::driver
