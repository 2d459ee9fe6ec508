// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/plan.h"

#include <gtest/gtest.h>

#include "support/str.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

/// The plan for a product with W constant.
Plan plan_of(const std::string& text, const ir::TargetSpec& spec) {
  const ir::LoopFunc func = canonical(lower::to_blocks(te::parse_program(text)));
  const std::vector<Stage> stages = stages_of(func);
  Choices by_model;
  return choose_plan(stages.at(0), *as_contraction(stages.at(0)), Sizes(func), spec, {"W"}, false,
                     by_model)
      .value();
}

/// f32[rows, terms] x f32[terms, columns]
std::string product(int64_t rows, int64_t terms, int64_t columns) {
  return str("te product(A: f32[", rows, ", ", terms, "], W: f32[", terms, ", ", columns,
             "]) {\n  C[i in ", rows, ", j in ", columns, "] = sum(k in ", terms,
             ") A[i, k] * W[k, j]\n  return C\n}");
}

Tile tile_of(int64_t terms, int64_t first_cache) {
  return plan_of(product(128, terms, 768), {.name = "wide",
                                            .vector_bits = 512,
                                            .vector_registers = 32,
                                            .l1_bytes = first_cache,
                                            .l2_bytes = 1 << 20})
      .tile;
}

TEST(Plan, RowsThatAreWholePagesApartAreAsManyAsTheFirstCacheKeeps) {
  EXPECT_LE(tile_of(3072, 32 << 10).rows, 8);
  EXPECT_GT(tile_of(3072, 64 << 10).rows, 8);
  EXPECT_GT(tile_of(3072 + 16, 32 << 10).rows, 8);
  EXPECT_GT(tile_of(1536, 32 << 10).rows, 8);  // on two places in turn
}

TEST(Plan, ShortSumsAreUnrolledAsAWholeWhereTheCodeStaysShort) {
  const std::string text = R"(te product(A: f32[64, 128, 8], W: f32[64, 8, 32]) {
    C[i in 128, j in 32] = sum(k in 64, c in 8) A[k, i, c] * W[k, c, j]
    return C
  })";
  const Plan few = plan_of(text, {.name = "few", .vector_bits = 256, .vector_registers = 16});
  EXPECT_EQ(few.unroll, 8) << few.tile.rows << "x" << few.tile.vectors;
  const Plan many = plan_of(text, {.name = "many", .vector_bits = 256, .vector_registers = 32});
  EXPECT_EQ(many.unroll, 4) << many.tile.rows << "x" << many.tile.vectors;
}

/// Sixteen rows: six vectors by two are as many sums as two by six, but their panel does not stay
/// in the first cache, and the second brings half of what they read.
/// How much longer a tile takes than another one, for 320 rows of 512 results.
double slower(const Tile& tile, const Tile& other, int64_t terms, double far = 0) {
  const ResultSize size{.rows = 320, .columns = 512, .near_bytes = 24 << 10, .far = far};
  const ir::Rates rates{.bytes = {16, 8, 3}};
  const auto cycles = [&](const Tile& t) { return tile_cycles(t, {&size, 1}, terms, 8, rates); };
  return cycles(tile) / cycles(other);
}

TEST(Plan, VectorsThatComeFromTheSecondCacheAreFew) {
  const auto tile = [](int64_t terms) {
    return plan_of(product(16, terms, 512), {.name = "narrow",
                                             .vector_bits = 256,
                                             .vector_registers = 16,
                                             .l1_bytes = 32 << 10,
                                             .rates = {.bytes = {16, 8, 3}}})
        .tile;
  };
  EXPECT_LE(tile(512).vectors, 3);
  EXPECT_GE(tile(512).rows, 4);
  EXPECT_LT(slower({2, 6}, {6, 2}, 64), 1.2) << "a panel that stays in the first cache";
  EXPECT_GT(slower({2, 6}, {6, 2}, 512), 2);
}

/// Two vectors by six rows are as many sums as six by two, and have the time to ask for the next
/// panel.
TEST(Plan, WeightsThatComeFromMemoryWantTilesWithAsManyRowsAsVectors) {
  EXPECT_GT(slower({2, 6}, {6, 2}, 64, 10), slower({2, 6}, {6, 2}, 64) + 0.03);
}

TEST(Plan, FewRowsFetchWhateverTheWidthIs) {
  const auto cycles = [](int64_t vectors) {
    const ResultSize size{.rows = 1, .columns = 512, .near_bytes = 24 << 10};
    return tile_cycles({1, vectors}, {&size, 1}, 256, 8, {.bytes = {16, 8, 3}});
  };
  EXPECT_LE(cycles(8), cycles(2));
}

TEST(Plan, ATileOfWhichAPartIsThereTakesAsLongAsAWholeOne) {
  const auto cycles = [](int64_t columns) {
    const ResultSize size{.rows = 64, .columns = columns, .whole_columns = true};
    return tile_cycles({12, 1}, {&size, 1}, 256, 16, {}) * static_cast<double>(columns);
  };
  EXPECT_EQ(cycles(1), cycles(8));
}

TEST(Plan, ALoopThatOccupiesAllThreadsStaysTheFirst) {
  const ir::TargetSpec spec{.name = "two", .cores = 2};
  std::vector<TileLoop> loops = {{{}, 43, false}, {{}, 49, true}};
  EXPECT_EQ(order_for_threads(loops, spec), 1u);
  EXPECT_EQ(loops[0].count, 43) << "a panel of weights is read once, not 49 times";
  loops = {{{}, 5, false}, {{}, 49, true}};
  EXPECT_EQ(order_for_threads(loops, spec), 1u);
  EXPECT_EQ(loops[0].count, 49) << "five pieces are too few";
}

}  // namespace
}  // namespace tilewright::tune
