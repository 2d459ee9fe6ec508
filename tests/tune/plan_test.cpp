// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/plan.h"

#include <gtest/gtest.h>

#include "support/str.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

/// The tile of a product f32[128, terms] x f32[terms, 768].
Tile tile_of(int64_t terms, int64_t first_cache) {
  const ir::TargetSpec spec{.name = "wide",
                            .vector_bits = 512,
                            .vector_registers = 32,
                            .l1_bytes = first_cache,
                            .l2_bytes = 1 << 20};
  const ir::LoopFunc func = canonical(
      lower::to_blocks(te::parse_program(str("te product(A: f32[128, ", terms, "], W: f32[", terms,
                                             ", 768]) {\n  C[i in 128, j in 768] = sum(k in ",
                                             terms, ") A[i, k] * W[k, j]\n  return C\n}"))));
  const std::vector<Stage> stages = stages_of(func);
  Choices by_model;
  return choose_plan(stages.at(0), *as_contraction(stages.at(0)), Sizes(func), spec, {"W"}, false,
                     by_model)
      .value()
      .tile;
}

TEST(Plan, RowsThatAreWholePagesApartAreAsManyAsTheFirstCacheKeeps) {
  EXPECT_LE(tile_of(3072, 32 << 10).rows, 8);
  EXPECT_GT(tile_of(3072, 64 << 10).rows, 8);
  EXPECT_GT(tile_of(3072 + 16, 32 << 10).rows, 8);
  EXPECT_GT(tile_of(1536, 32 << 10).rows, 8);  // on two places in turn
}

}  // namespace
}  // namespace tilewright::tune
