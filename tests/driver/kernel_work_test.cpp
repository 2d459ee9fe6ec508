// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_work.h"

#include <gtest/gtest.h>

#include "driver/build_kernels.h"
#include "graph/parse.h"
#include "lower/to_blocks.h"
#include "ops/all.h"
#include "te/parse.h"

namespace tilewright::driver {
namespace {

std::optional<KernelWork> work(const char* text, std::vector<std::optional<int64_t>> symbols = {}) {
  graph::Graph graph = graph::parse(text, ops::find);
  return work_of(plain_kernels(graph).at(0).blocks, symbols);
}

TEST(KernelWorks, count_products_and_sums) {
  const std::optional<KernelWork> w = work(
      "graph main(%x: f32[5, 3], %w: f32[3, 7]) { "
      "%y: f32[5, 7] = matmul(%x, %w) return %y }");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->flops, 2 * 5 * 3 * 7);
  EXPECT_EQ(w->loads, (std::vector<double>{5 * 3 * 7, 5 * 3 * 7, 0}));
}

TEST(KernelWorks, take_symbols_as_the_run_has_them) {
  constexpr const char* kText =
      "symbol n in 1..64 = dim(%x, 0) "
      "graph main(%x: f32[n, 3], %z: f32[n, 3]) { %y: f32[n, 3] = add(%x, %z) return %y }";
  EXPECT_EQ(work(kText, {8})->flops, 24);
  EXPECT_FALSE(work(kText, {std::nullopt}));
}

TEST(KernelWorks, leave_integers_and_movements_out) {
  EXPECT_EQ(
      work("graph main(%x: i32[4], %z: i32[4]) { %y: i32[4] = add(%x, %z) return %y }")->flops, 0);
  EXPECT_EQ(work("graph main(%x: f32[4, 2]) { "
                 "%y: f32[2, 4] = transpose(%x) {axes = [1, 0]} return %y }")
                ->flops,
            0);
}

TEST(KernelWorks, count_a_function_as_what_computes_it) {
  EXPECT_EQ(work("graph main(%x: f32[5]) { %y: f32[5] = exp(%x) return %y }")->flops, 5 * 18);
}

TEST(KernelWorks, count_one_of_the_rows_that_an_index_chooses) {
  // Two additions for i = 0, one for i = 1, none for the other four.
  const ir::LoopFunc blocks =
      lower::to_blocks(te::parse_program("te t(x: f32[6]) { y[i in 6] = select(i == 0, x[i] + x[i] "
                                         "+ x[i], select(i == 1, x[i] + x[i], x[i])) return y }"));
  EXPECT_EQ(work_of(blocks, {})->flops, 3);
}

TEST(KernelWorks, leave_out_what_packing_computed) {
  const ir::LoopFunc blocks =
      lower::to_blocks(te::parse_program("te t(x: f32[6], w: f32[6]) { u[i in 6] = w[i] * 2.0 + "
                                         "1.0 y[i in 6] = x[i] * u[i] return y }"));
  EXPECT_EQ(work_of(blocks, {})->flops, 18);
  EXPECT_EQ(work_of(blocks, {}, {1})->flops, 6);
  EXPECT_EQ(work_of(blocks, {}, {0})->flops, 18);
}

TEST(KernelWorks, see_that_a_gather_reads_few_rows) {
  const std::optional<KernelWork> w = work(
      "graph main(%table: f32[1000, 8], %i: i64[3]) { "
      "%y: f32[3, 8] = gather(%table, %i) {axis = 0} return %y }");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->loads[0], 3 * 8);
}

}  // namespace
}  // namespace tilewright::driver
