// SPDX-License-Identifier: Apache-2.0
#include "tune/model/features.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "lower/to_blocks.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/choose/choose.h"
#include "tune/chosen.h"
#include "tune/model/analytic.h"
#include "tune/space/master.h"
#include "tune/space/operators.h"

namespace tilewright::tune {
namespace {

using schedule::kOpen;
using schedule::Schedule;

float value(const Features& features, std::string_view name) {
  for (size_t i = 0; i < kFeatures; ++i)
    if (feature_name(i) == name) return features[i];
  throw std::runtime_error("no such feature");
}

ir::LoopFunc matmul() {
  return lower::to_blocks(
      te::parse_program("te mm(A: f32[64, 32], B: f32[32, 128]) {\n"
                        "  C[y in 64, x in 128] = sum(k in 32) A[y, k] * B[k, x]\n  return C\n}"));
}

TEST(Features, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (size_t i = 0; i < kFeatures; ++i) names.insert(feature_name(i));
  EXPECT_EQ(names.size(), kFeatures);
  EXPECT_EQ(feature_name(0), "analytic");
}

TEST(Leaves, AnInstructionIsOneOperationOnItsLanes) {
  for (const char* machine : {"znver4", "amx"}) {
    SCOPED_TRACE(machine);
    const ir::LoopFunc blocks = lower::to_blocks(
        te::parse_program("te k(A: u8[64, 128], W: i8[128, 64]) {\n"
                          "  C[y in 64, x in 64] = sum(k in 128) i32(A[y, k]) * i32(W[k, x])\n"
                          "  return C\n}"));
    const ir::TargetSpec spec = target::parse_target(machine);
    const Schedule s = choose_schedule(blocks, spec, {"W"});
    double products = 0;
    for (const Leaf& leaf : leaves_of(s.func(), {"W"})) {
      if (!leaf.update) continue;
      EXPECT_LT(leaf.operations, 2);  // groups of four and more for each
      EXPECT_TRUE(std::ranges::any_of(leaf.loops, [](const LeafLoop& l) {
        return l.kind == ir::ForKind::Vectorized && l.extent == 16;
      }));
      products += leaf.runs();
    }
    EXPECT_GE(products, 64.0 * 64 * 128);
    EXPECT_LT(products, 1.05 * 64 * 64 * 128);  // a last tile may be cut short
    // Without it, numbers are widened and multiplied one by one.
    ir::TargetSpec without = spec;
    without.instructions.clear();
    const Schedule plain = choose_schedule(blocks, without, {"W"});
    EXPECT_LT(value(features_of(s.func(), spec, {"W"}), "compute"),
              value(features_of(plain.func(), spec, {"W"}), "compute"));
  }
}

TEST(Leaves, KnowWhatALevelTouches) {
  Schedule s(matmul());
  const auto [y, x, k] = s.loops<3>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 8});
  s.reorder({y0, x, k, y1});
  const std::vector<Leaf> leaves = leaves_of(s.func(), {});
  const Leaf& leaf = leaves.back();  // the first is the init
  ASSERT_EQ(leaf.loops.size(), 4u);
  EXPECT_EQ(leaf.runs(), 64.0 * 128 * 32);
  const LeafAccess &a = leaf.accesses[0], &b = leaf.accesses[1], &c = leaf.accesses[2];
  EXPECT_EQ(a.elements(leaf.loops, 0), 64.0 * 32);
  EXPECT_EQ(a.elements(leaf.loops, 1), 8.0 * 32);  // of one y0
  EXPECT_EQ(a.elements(leaf.loops, 3), 8.0);       // of one k
  EXPECT_EQ(b.elements(leaf.loops, 1), 32.0 * 128);
  EXPECT_EQ(b.elements(leaf.loops, 3), 1.0);
  EXPECT_EQ(c.elements(leaf.loops, 2), 8.0);
  EXPECT_TRUE(c.store);
  EXPECT_EQ(a.stride(3), 32.0);
  EXPECT_EQ(b.stride(1), 1.0);
  EXPECT_EQ(b.stride(2), 128.0);
}

TEST(Leaves, SeeThroughPanels) {
  Schedule s(matmul());
  const schedule::BlockRef copy = s.cache_read(s.block("C"), "B", ir::ScopeKind::Global);
  const ir::Var n("n"), k("k");
  s.transform_layout(copy, "B_global", {{k, n}, {n / 16, k, n % 16}});
  const auto [y, x, r] = s.loops<3>("C");
  const auto [x0, x1] = s.split<2>(x, {kOpen, 16});
  s.reorder({x0, y, r, x1});
  const Leaf leaf = leaves_of(s.func(), {}).back();
  const LeafAccess& b = leaf.accesses[1];
  EXPECT_EQ(b.stride(3), 1.0);   // x1
  EXPECT_EQ(b.stride(2), 16.0);  // k
  EXPECT_EQ(b.elements(leaf.loops, 1), 32.0 * 16);
}

TEST(Leaves, LeaveOutWhatConstantsDecide) {
  Schedule s(matmul());
  s.cache_read(s.block("C"), "B", ir::ScopeKind::Global);
  const size_t all = leaves_of(s.func(), {}).size();
  EXPECT_EQ(leaves_of(s.func(), {"B"}).size(), all - 1);
}

TEST(Leaves, CountLinesOfWholeBlocksTogether) {
  // Blocks of eight channels: a row of four pixels is 128 bytes in one piece.
  Schedule s(lower::to_blocks(te::parse_program(
      "te k(X: f32[2, 6, 4, 8]) {\n"
      "  Y[c in 2, y in 6, x in 4, d in 8] = X[c, y, x, d] * 2.0\n  return Y\n}")));
  const Leaf leaf = leaves_of(s.func(), {}).back();
  const LeafAccess& x = leaf.accesses[0];
  EXPECT_EQ(x.lines(leaf.loops, 0), 24.0);
  EXPECT_EQ(x.lines(leaf.loops, 2), 2.0);
  EXPECT_EQ(x.lines(leaf.loops, 3), 1.0);  // half a line is one
}

TEST(Leaves, LeaveOutChoicesThatAllLanesShare) {
  const char* padded =
      "te k(X: f32[30, 16]) {\n"
      "  Y[y in 32, x in 16] = guard(1 <= y && y < 31, X[y - 1, x], 0.0) * 2.0\n  return Y\n}";
  for (const bool across : {true, false}) {
    Schedule s(lower::to_blocks(te::parse_program(padded)));
    const auto [y, x] = s.loops<2>("Y");
    if (!across) s.reorder({x, y});
    s.vectorize(across ? x : y);
    const double operations = leaves_of(s.func(), {}).back().operations;
    EXPECT_EQ(operations, across ? 1 : 5);  // and a guard of two comparisons and what joins them
  }
}

/// What `text` stores to C in tiles of rows along y and vectors along x costs; sums are in r.
LeafCost cost_of_tiles(const char* text, int64_t rows, int64_t vectors, bool all_terms,
                       bool columns_first = false) {
  const ir::TargetSpec spec = wide_machine();
  Schedule s(lower::to_blocks(te::parse_program(text)));
  const schedule::BlockRef copy = s.cache_write(s.block("C"), "C", ir::ScopeKind::Register);
  const auto [y, x, r] = s.loops<3>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, rows});
  const auto [x0, x1, x2] = s.split<3>(x, {kOpen, vectors, spec.lanes(32)});
  if (columns_first)
    s.reorder({x0, y0, r, x1, y1, x2});
  else
    s.reorder({x0, y0, r, y1, x1, x2});
  s.reverse_compute_at(copy, y0);
  s.vectorize(x2);
  s.unroll(x1);
  s.unroll(y1);
  if (all_terms) s.unroll(r);
  for (const Leaf& leaf : leaves_of(s.func(), {}))
    if (leaf.update) return cost_of(leaf, spec);
  throw std::runtime_error("no update");
}

constexpr const char* kColumn =
    "te k(X: f32[66, 512], W: f32[3, 512]) {\n"
    "  C[y in 64, x in 512] = sum(r in 3) X[y + r, x] * W[r, x]\n  return C\n}";

TEST(Analytic, WindowsAreReadOnceWhereRegistersHoldThem) {
  const LeafCost few = cost_of_tiles(kColumn, 4, 1, true);
  EXPECT_EQ(few.accumulators, 4);
  EXPECT_LT(few.loads, 6 + 3);  // rows of X, and W before the loop over rows
  EXPECT_GE(few.loads, 6);
  const LeafCost many = cost_of_tiles(kColumn, 16, 1, true);
  EXPECT_GE(many.loads, 16 * 3);  // each term reads its rows again
}

TEST(Analytic, WindowsAlongLanesAreOtherVectors) {
  const char* row =
      "te k(X: f32[64, 514], W: f32[3]) {\n"
      "  C[y in 64, x in 512] = sum(r in 3) X[y, x + r] * W[r]\n  return C\n}";
  const LeafCost cost = cost_of_tiles(row, 1, 2, true);
  EXPECT_GE(cost.loads, 2 * 3);
}

TEST(Analytic, StridesTouchNothingBetween) {
  const char* strided =
      "te k(X: f32[130, 512], W: f32[512]) {\n"
      "  C[y in 64, x in 512] = sum(r in 3) X[2 * y + r, x] * W[x]\n  return C\n}";
  // Rows 0, 2, … 10 of X and one more of each: 13.
  EXPECT_LE(cost_of_tiles(strided, 6, 1, true).loads, 13 + 1);
  EXPECT_LE(cost_of_tiles(strided, 6, 1, false).loads, 6 + 1);
}

TEST(Analytic, TheOrderInATileDecidesWhatIsKept) {
  const char* product =
      "te k(A: f32[96, 32], B: f32[32, 512]) {\n"
      "  C[y in 96, x in 512] = sum(r in 32) A[y, r] * B[r, x]\n  return C\n}";
  // With 32 registers 12x2 fits beside two vectors of B and a number of A, not beside 12 numbers.
  const double rows_first = cost_of_tiles(product, 12, 2, false).loads;
  EXPECT_EQ(rows_first, 12 + 2);
  EXPECT_GT(cost_of_tiles(product, 12, 2, false, true).loads, rows_first);
}

TEST(Analytic, SumsThatEndInTheBodyDoNotWait) {
  const LeafCost together = cost_of_tiles(kColumn, 1, 1, true),
                 apart = cost_of_tiles(kColumn, 1, 1, false);
  EXPECT_LT(together.latency, apart.latency / 4);
  EXPECT_EQ(together.compute, apart.compute);
}

TEST(Features, TellTiledFromPlain) {
  const ir::TargetSpec spec = wide_machine();
  const Features plain = features_of(matmul(), spec);
  const Features chosen = features_of(choose_schedule(matmul(), spec).func(), spec);
  EXPECT_LT(value(chosen, "analytic"), value(plain, "analytic") - 2);
  EXPECT_EQ(value(chosen, "main.lanes_used"), 1);
  EXPECT_LT(value(plain, "main.lanes_used"), 0.1);
  EXPECT_GT(value(chosen, "main.accumulators"), 3);
}

TEST(Features, AreNumbersForEveryProgram) {
  for (const Operator& op : kCommon) {
    const Space space = cpu_space(lower::to_blocks(te::parse_program(op.text)), wide_machine());
    ir::Random random(1);
    for (int i = 0; i < 5; ++i)
      for (const float f : features_of(space.apply(*space.random(random)).func(), wide_machine()))
        EXPECT_TRUE(std::isfinite(f)) << op.name;
  }
}

}  // namespace
}  // namespace tilewright::tune
