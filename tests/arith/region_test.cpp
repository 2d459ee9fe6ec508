// SPDX-License-Identifier: Apache-2.0
#include "arith/region.h"

#include "arith/known.h"
#include "arith/random_program.h"
#include "ir/rewrite.h"

namespace tilewright::arith {
namespace {

using ir::Expr;
using ir::Range;
using ir::Region;

struct Regions : Known {
  Region region(const std::vector<std::pair<std::string, std::string>>& ranges) {
    std::vector<Range> list;
    for (const auto& [min, extent] : ranges) list.push_back({expr(min), expr(extent)});
    return {environment.buffers.at(0), list, {}};
  }
  std::string widened(const Region& r, const std::vector<std::string>& names) {
    std::vector<ir::Var> vars;
    for (const std::string& n : names) vars.push_back(var(n));
    return ir::print(widen(r, vars, context));
  }
};

TEST(Region, WidenOverTheWindowOfAConvolution) {
  Regions k;
  k.loop("ho", "0", "7").loop("hi", "0", "4").loop("r", "0", "3");
  k.buffer("A", ir::Elem::F32, {58});
  const Region one = k.region({{"(ho*4 + hi)*2 + r", "1"}});
  EXPECT_EQ(k.widened(one, {"r"}), "A[ho * 8 + hi * 2 +: 3]");
  EXPECT_EQ(k.widened(one, {"hi", "r"}), "A[ho * 8 +: 9]");
  EXPECT_EQ(k.widened(one, {"ho", "hi", "r"}), "A[0..57]");
}

TEST(Region, WidenWithSymbolicTail) {
  Regions k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  k.buffer("A", ir::Elem::F32, {k.expr("n")});
  k.assume("io*16 + ii < n");
  const Region one = k.region({{"io*16 + ii", "1"}});
  EXPECT_EQ(k.widened(one, {"ii"}), "A[io * 16 +: min(n - io * 16, 16)]");
  EXPECT_EQ(k.widened(one, {"io", "ii"}), "A[0..n]");
}

TEST(Region, WidenFallsBackToTheDimension) {
  Regions k;
  k.loop("i", "0", "8");
  k.buffer("A", ir::Elem::F32, {100}).buffer("I", ir::Elem::I64, {8});
  EXPECT_EQ(k.widened(k.region({{"I[i]", "1"}}), {"i"}), "A[0..100]");
}

TEST(Region, WidenDivisionsAndRemainders) {
  Regions k;
  k.loop("f", "0", "4").loop("o", "0", "12");
  k.buffer("A", ir::Elem::F32, {64, 64});
  EXPECT_EQ(k.widened(k.region({{"(o*4 + f)/8", "1"}, {"(o*4 + f) % 8", "1"}}), {"f"}),
            "A[o / 2, o % 2 * 4 +: 4]");
}

TEST(Region, CoversWithSymbolicOuterVariables) {
  Regions k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  k.buffer("A", ir::Elem::F32, {k.expr("n")});
  EXPECT_TRUE(covers(k.region({{"io*16", "16"}}), k.region({{"io*16 + ii", "1"}}), k.context));
  EXPECT_FALSE(covers(k.region({{"io*16", "15"}}), k.region({{"io*16 + ii", "1"}}), k.context));
  EXPECT_TRUE(covers(k.region({{"0", "n"}}), k.region({{"io*16 + ii", "1"}}), k.context));
  EXPECT_TRUE(covers(k.region({{"io*16", "3"}}), k.region({{"5", "0"}}), k.context));
}

TEST(Region, DisjointTilesAndInterleavedRows) {
  Regions k;
  k.symbol("n", 1, 4096).loop("i", "0", "n").loop("j", "0", "n");
  k.buffer("A", ir::Elem::F32, {k.expr("n*16 + 16")});
  EXPECT_FALSE(disjoint(k.region({{"i*16", "16"}}), k.region({{"j*16", "16"}}), k.context));
  k.assume("i < j");
  EXPECT_TRUE(disjoint(k.region({{"i*16", "16"}}), k.region({{"j*16", "16"}}), k.context));
  EXPECT_FALSE(disjoint(k.region({{"i*16", "17"}}), k.region({{"j*16", "16"}}), k.context));
  EXPECT_TRUE(disjoint(k.region({{"i*2", "1"}}), k.region({{"j*4 + 1", "1"}}), k.context));
  EXPECT_TRUE(disjoint(k.region({{"0", "0"}}), k.region({{"0", "n"}}), k.context));
}

TEST(Region, DisjointSymbolicRows) {
  Regions k;
  k.symbol("m", 1, 4096).symbol("n", 1, 4096).loop("i", "0", "m").loop("j", "0", "m");
  k.buffer("A", ir::Elem::F32, {k.expr("m*n")});
  k.assume("i < j");
  EXPECT_TRUE(disjoint(k.region({{"i*n", "n"}}), k.region({{"j*n", "n"}}), k.context));
}

TEST(Region, UniteIsTheHull) {
  Regions k;
  k.loop("i", "0", "16");
  k.buffer("A", ir::Elem::F32, {64});
  const Region both = unite(k.region({{"i", "3"}}), k.region({{"i + 2", "4"}}), k.context);
  EXPECT_EQ(ir::print(both), "A[i +: 6]");
}

Region random_region(RandomFacts& r, const ir::Buffer& buffer) {
  std::vector<Range> ranges;
  for (int d = 0; d < buffer->rank(); ++d) {
    const Expr min = r.number(0, 3) ? r.affine() : r.index(2);
    ranges.push_back({min, r.number(0, 2) ? Expr(r.number(0, 5)) : r.affine()});
  }
  return {buffer, ranges, {}};
}

/// Start and end (exclusive) of a range for given values.
std::pair<int64_t, int64_t> span(const Range& r, const Values& v) {
  const int64_t lo = evaluate_int(r.min, v);
  return {lo, lo + evaluate_int(r.extent, v)};
}

TEST(Region, RandomAnswersHold) {
  const ir::Buffer buffer = ir::make_buffer("A", ir::Elem::F32, {1000, 1000});
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomFacts r(seed);
    const Region a = random_region(r, buffer), b = random_region(r, buffer);
    const bool apart = disjoint(a, b, r.context), inside = covers(a, b, r.context);
    const Region hull = unite(a, b, r.context);
    std::vector<ir::Var> gone;
    for (const ir::Var& v : r.vars)
      if (r.number(0, 1)) gone.push_back(v);
    const Region wide = widen(a, gone, r.context);
    for (const Values& v : r.valuations) {
      bool empty_a = false, empty_b = false, overlap = true, contained = true;
      for (size_t d = 0; d < 2; ++d) {
        const auto [a_lo, a_hi] = span(a.ranges[d], v);
        const auto [b_lo, b_hi] = span(b.ranges[d], v);
        empty_a = empty_a || a_hi <= a_lo;
        empty_b = empty_b || b_hi <= b_lo;
        overlap = overlap && std::max(a_lo, b_lo) < std::min(a_hi, b_hi);
        contained = contained && a_lo <= b_lo && b_hi <= a_hi;
      }
      const std::string where = "seed " + std::to_string(seed) + ": " + r.description + "\n  " +
                                ir::print(a) + "\n  " + ir::print(b);
      ASSERT_TRUE(!apart || empty_a || empty_b || !overlap) << where;
      ASSERT_TRUE(!inside || empty_b || contained) << where;
      for (size_t d = 0; d < 2; ++d) {
        const auto [a_lo, a_hi] = span(a.ranges[d], v);
        const auto [h_lo, h_hi] = span(hull.ranges[d], v);
        const auto [w_lo, w_hi] = span(wide.ranges[d], v);
        ASSERT_TRUE(h_lo <= a_lo && a_hi <= h_hi) << where << "\n  " << ir::print(hull);
        const bool whole = ir::is_const(wide.ranges[d].extent, 1000);
        ASSERT_TRUE(a_hi <= a_lo || whole || (w_lo <= a_lo && a_hi <= w_hi))
            << where << "\n  " << ir::print(wide);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::arith
