// SPDX-License-Identifier: Apache-2.0
// annotate, specialize, swizzle_order.
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

ir::LoopFunc scale() {
  return ir::parse_function(R"(
loops scale(A: in f32[n], C: out f32[n]) where n in 1..64 {
  for i in 0..n { block C(v: spatial n = i) reads A[v] writes C[v] { C[v] = A[v] * 2.0 } }
})");
}

TEST(Annotate, LeavesAHintOnALoopOrBlock) {
  const ir::LoopFunc f = matmul(4, 4, 4);
  Schedule s(f);
  const BlockRef c = s.block("C");
  const auto [y, x, k] = s.loops<3>("C");
  s.annotate(y, "depth", s.decide("depth", 3));
  s.annotate(y, "role", "load");
  s.annotate(c, "fast", 1);
  s.annotate(c, "fast", -2);  // the last word counts
  expect_same(f, s);
  const std::string text = ir::print(s.func());
  EXPECT_NE(text.find("for y in 0..4 hints (depth = 3, role = \"load\") {"), std::string::npos)
      << text;
  EXPECT_NE(text.find("hints (fast = -2)"), std::string::npos) << text;
  EXPECT_EQ(text.find("fast = 1"), std::string::npos) << text;
  EXPECT_TRUE(ir::equal(ir::parse_function(text), s.func()));
}

TEST(Annotate, RefusesAKeyThatIsNoNameAndATargetThatIsGone) {
  Schedule s(matmul(4, 4, 4));
  const LoopRef y = s.loops("C")[0];
  expect_refused([&] { s.annotate(y, "two words", 1); }, "schedule.annotate.key", "two words");
  expect_refused([&] { s.annotate(y, "n", Number::of_decision("none")); },
                 "schedule.decision.unknown", "`$none`");
  s.split(y, {kOpen, 2});
  expect_refused([&] { s.annotate(y, "depth", 1); }, "schedule.ref.unknown", "`%y`");
}

TEST(Specialize, DropsPredicatesWhereTheConditionHolds) {
  Schedule s(scale());
  const auto [i0, i1] = s.split<2>(s.loops("C")[0], {kOpen, 8});
  const auto [yes, no] = s.specialize(i0, "n % 8 == 0");
  ir::verify(s.func());
  expect_text(s.func(), R"(
loops scale(A: in f32[n], C: out f32[n]) where n in 1..64 stage scheduled {
  if n % 8 == 0 {
    for i_0 in 0..n / 8 { for i_1 in 0..8 {
      block C(v: spatial n = i_0 * 8 + i_1) reads A[v] writes C[v] { C[v] = A[v] * 2.0 } } }
  } else {
    for i_0 in 0..(n + 7) / 8 { for i_1 in 0..8 {
      block C_else(v: spatial n = i_0 * 8 + i_1) where i_0 * 8 + i_1 < n reads A[v] writes C[v] {
        C[v] = A[v] * 2.0 } } }
  }
})");
  s.vectorize(s.loops("C")[1]);
  s.parallel(no);
  for (const int64_t n : {1, 7, 8, 9, 16, 64}) expect_same_at(scale(), s.func(), n, {{n}, {n}});
  const Trace trace = parse_trace(print(s.trace()));
  EXPECT_EQ(ir::print(apply(trace, scale())), ir::print(s.func()));
}

TEST(Specialize, CopiesTheLoopsOfABlock) {
  Schedule s(matmul_relu());
  s.merge(s.loops("C")[0], s.loops("D")[0]);
  const auto [yes, no] = s.specialize(s.block("C"), "y < 3 || y % 2 == 1");
  expect_same(matmul_relu(), s);
  EXPECT_EQ(s.loops(no).size(), 3u);
  s.unroll(s.loops(yes)[2]);
  expect_same(matmul_relu(), s);
  // Two blocks now write C: each alone is only a part of it.
  expect_refused([&] { s.compute_inline(s.block("D")); }, "schedule.inline.output", "`D`");
  expect_refused([&] { s.compute_root(s.block("C")); }, "schedule.compute_root.writer", "C_else");
  expect_refused([&] { s.reindex(s.block("D"), "C"); }, "schedule.reindex.unwritten", "C[");
}

TEST(Specialize, RefusesWhatIsNoConditionThere) {
  Schedule s(scale());
  const LoopRef i = s.loops("C")[0];
  expect_refused([&] { s.specialize(i, "i < 3"); }, "schedule.specialize.condition", "named `i`");
  expect_refused([&] { s.specialize(i, "n +"); }, "schedule.specialize.condition",
                 "use an expression over `n`");
  expect_refused([&] { s.specialize(i, "n + 1"); }, "schedule.specialize.condition", "is i64");
  expect_refused([&] { s.specialize(i, "A[0] < 1.0"); }, "schedule.specialize.condition", "`A`");
  const auto [i0, i1] = s.split<2>(i, {kOpen, 8});
  const auto [a, b] = s.split<2>(i1, {4, 2});
  s.vectorize(a);
  expect_refused([&] { s.specialize(b, "n % 8 == 0"); }, "schedule.specialize.condition",
                 "lanes of `i_1_0`");
}

TEST(SwizzleOrder, GoesDownTheColumnsOfABand) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops grid(A: in f32[4, 3], C: out f32[4, 3]) {
  for y in 0..4 { for x in 0..3 {
    block C(vy: spatial 4 = y, vx: spatial 3 = x) reads A[vy, vx] writes C[vy, vx] {
      C[vy, vx] = A[vy, vx] * 2.0 } } }
})");
  Schedule s(f);
  const auto [y, x] = s.loops<2>("C");
  s.swizzle_order(y, x, 2);
  expect_same(f, s);
  // Rows 0 and 1 of each column, then rows 2 and 3.
  const auto* loop = s.func().body.as<ir::For>();
  ASSERT_TRUE(loop);
  const auto* block = loop->body.as<ir::Block>();
  ASSERT_TRUE(block);
  std::string order;
  for (int64_t i = 0; i < 12; ++i)
    for (const ir::BlockIter& it : block->iters)
      order += ir::print(arith::Context().simplify(ir::substitute(it.binding, loop->var, i)));
  EXPECT_EQ(order, "001001110212203021312232");
}

TEST(SwizzleOrder, IsRightWhereTheGroupDoesNotDivide) {
  const ir::LoopFunc f = matmul(10, 7, 3);
  for (const int group : {1, 3, 4, 16}) {
    Schedule s(f);
    const auto [y, x, k] = s.loops<3>("C");
    const auto tiles = s.tile({y, x}, {2, 2});
    const LoopRef grid = s.swizzle_order(tiles[0], tiles[1], group);
    expect_same(f, s);
    s.bind(grid, ir::ThreadAxis::BlockX);
    expect_same(f, s);
  }
}

TEST(SwizzleOrder, SwizzlesSymbolicSizes) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops grid(A: in f32[n, 5], C: out f32[n, 5]) where n in 1..64 {
  for y in 0..n { for x in 0..5 {
    block C(vy: spatial n = y, vx: spatial 5 = x) reads A[vy, vx] writes C[vy, vx] {
      C[vy, vx] = A[vy, vx] * 2.0 } } }
})");
  Schedule s(f);
  const auto [y, x] = s.loops<2>("C");
  s.parallel(s.swizzle_order(y, x, 4));
  for (const int64_t n : {1, 4, 6}) expect_same_at(f, s.func(), n, {{n, 5}, {n, 5}});
}

TEST(SwizzleOrder, RefusesIterationsThatDependOnEachOther) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  expect_refused([&] { s.swizzle_order(x, k, 2); }, "schedule.loop.dependence", "reduces into `C`");
  expect_refused([&] { s.swizzle_order(y, k, 2); }, "schedule.swizzle_order.loops",
                 "not all that `y` holds");
  expect_refused([&] { s.swizzle_order(x, y, 2); }, "schedule.swizzle_order.loops",
                 "not all that `x` holds");
  expect_refused([&] { s.swizzle_order(y, x, 0); }, "schedule.swizzle_order.loops",
                 "at least one row");
  s.parallel(y);
  expect_refused([&] { s.swizzle_order(y, x, 2); }, "schedule.loop.kind", "parallel already");
  Schedule t(ir::parse_function(R"(
loops triangle(C: inout f32[6, 6]) {
  for y in 0..6 { for x in 0..y {
    block C(vy: spatial 6 = y, vx: spatial 6 = x) writes C[vy, vx] { C[vy, vx] = 0.0 } } }
})"));
  const auto [a, b] = t.loops<2>("C");
  expect_refused([&] { t.swizzle_order(a, b, 2); }, "schedule.swizzle_order.loops",
                 "depends on `y`");
}

}  // namespace
}  // namespace tilewright::schedule
