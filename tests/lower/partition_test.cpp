// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

ir::LoopFunc partitioned(std::string_view text, const Limits& limits = {}) {
  return after({partition, simplify}, text, limits);
}

TEST(Partition, PeelsTheTailOfASplitLoop) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n]) where n in 0..1000 stage scheduled {
  for i in 0..(n + 7) / 8 {
    for j in 0..8 { if i*8 + j < n { C[i*8 + j] = A[i*8 + j] } }
  }
})";
  const ir::LoopFunc f = partitioned(text);
  // The loop over whole tiles carries no test.
  const ir::Seq* parts = f.body.as<ir::Seq>();
  ASSERT_NE(parts, nullptr) << ir::print(f);
  ASSERT_EQ(parts->stmts.size(), 2u) << ir::print(f);
  int tests = 0;
  ir::walk(parts->stmts[0], [&](const ir::If&) { ++tests; });
  EXPECT_EQ(tests, 0) << ir::print(f);
  for (int64_t n : {0, 1, 7, 8, 9, 31}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, PeelsBothBorders) {
  expect_program(partitioned(R"(
loops f(X: in f32[9], Y: out f32[9]) stage scheduled {
  for i in 0..9 {
    Y[i] = guard(0 <= i - 1 && i + 1 < 9, X[i - 1] + X[i + 1], 0.0)
  }
})"),
                 R"(
loops f(X: in f32[9], Y: out f32[9]) stage scheduled {
  Y[0] = 0.0
  for i in 1 +: 7 { Y[i] = X[i - 1] + X[i + 1] }
  Y[8] = 0.0
})");
}

TEST(Partition, FirstStepOfAReduction) {
  expect_program(partitioned(R"(
loops f(A: in f32[4, 6], C: out f32[4]) stage scheduled {
  for i in 0..4 { for k in 0..6 {
    if k == 0 { C[i] = 0.0 }
    C[i] sum= A[i, k]
  } }
})"),
                 R"(
loops f(A: in f32[4, 6], C: out f32[4]) stage scheduled {
  for i in 0..4 {
    C[i] = 0.0
    C[i] sum= A[i, 0]
    for k in 1 +: 5 { C[i] sum= A[i, k] }
  }
})");
}

TEST(Partition, FirstStepOfASplitReduction) {
  const char* text = R"(
loops f(A: in f32[4, 24], C: out f32[4]) stage scheduled {
  for i in 0..4 { for ko in 0..3 { for ki in 0..8 {
    if ko*8 + ki == 0 { C[i] = 0.0 }
    C[i] sum= A[i, ko*8 + ki]
  } } }
})";
  const ir::LoopFunc f = partitioned(text);
  int tests = 0;
  ir::walk(f.body, [&](const ir::If&) { ++tests; });
  EXPECT_EQ(tests, 0) << ir::print(f);
  expect_same(ir::parse_function(text), f);
}

constexpr const char* kConv = R"(
loops conv(X: in f32[3, 10, 11], W: in f32[4, 3, 3, 3], Y: out f32[4, 10, 11]) stage scheduled {
  for o in 0..4 { for y in 0..10 { for x in 0..11 {
    Y[o, y, x] = 0.0
    for c in 0..3 { for ky in 0..3 { for kx in 0..3 {
      Y[o, y, x] sum= W[o, c, ky, kx] *
        guard(0 <= y + ky - 1 && y + ky - 1 < 10 && 0 <= x + kx - 1 && x + kx - 1 < 11,
              X[c, y + ky - 1, x + kx - 1], 0.0)
    } } }
  } } }
})";

TEST(Partition, BordersOfAConvolution) {
  const ir::LoopFunc f = partitioned(kConv);
  int loops_without_tests = 0;
  ir::walk(f.body, [&](const ir::For& loop) {
    if (!loop.body.as<ir::For>() && loop.var.name() == "c") {
      int tests = 0;
      ir::walk(loop.body, [&](const ir::Guard&) { ++tests; });
      loops_without_tests += tests == 0;
    }
  });
  bool clean = false;  // y in 1..9, x in 1..10
  ir::walk(f.body, [&](const ir::For& loop) {
    int tests = 0;
    ir::walk(loop.body, [&](const ir::Guard&) { ++tests; });
    clean = clean || (ir::is_const(loop.extent, 9) && tests == 0);
  });
  EXPECT_TRUE(clean) << ir::print(f);
  expect_same(ir::parse_function(kConv), f);
}

/// The whole body of the function's only loop; null when there is something else.
const ir::If* choice_of(const ir::LoopFunc& f) {
  const ir::For* loop = f.body.as<ir::For>();
  return loop ? loop->body.as<ir::If>() : nullptr;
}

TEST(Partition, AParallelLoopStaysOne) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..1000 stage scheduled {
  parallel for i in 0..(n + 7) / 8 {
    for j in 0..8 { if i*8 + j < n { C[i*8 + j] = A[i*8 + j] } }
  }
})";
  const ir::LoopFunc f = partitioned(text);
  const ir::If* choice = choice_of(f);
  ASSERT_NE(choice, nullptr) << ir::print(f);
  int tests = 0;
  ir::walk(choice->yes, [&](const ir::If&) { ++tests; });
  EXPECT_EQ(tests, 0) << ir::print(f);
  for (int64_t n : {1, 8, 9, 20}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, AParallelLoopChoosesByTheLastLoopItStandsFor) {
  const char* text = R"(
loops f(X: in f32[4, 9], Y: out f32[4, 9]) stage scheduled {
  parallel for i in 0..36 {
    for k in 0..3 {
      Y[i / 9, i % 9] = guard(1 <= i % 9 + k && i % 9 + k < 10, X[i / 9, i % 9 + k - 1], 0.0)
    }
  }
})";
  const ir::LoopFunc f = partitioned(text);
  const ir::If* choice = choice_of(f);
  ASSERT_NE(choice, nullptr) << ir::print(f);
  int tests = 0;
  ir::walk(choice->yes, [&](const ir::Guard&) { ++tests; });
  EXPECT_EQ(tests, 0) << ir::print(f);
  expect_same(ir::parse_function(text), f);
}

TEST(Partition, LoopsOfSymbolicExtentsAreToldApartToo) {
  const char* text = R"(
loops f(X: in f32[m, n], Y: out f32[m, n]) where m in 1..100, n in 1..1000 stage scheduled {
  parallel for i in 0..m * n {
    for k in 0..3 {
      Y[i / n, i % n] = guard(1 <= i % n + k && i % n + k < n + 1, X[i / n, i % n + k - 1], 0.0)
    }
  }
})";
  const ir::LoopFunc f = partitioned(text);
  const ir::If* choice = choice_of(f);
  ASSERT_NE(choice, nullptr) << ir::print(f);
  int tests = 0;
  ir::walk(choice->yes, [&](const ir::Guard&) { ++tests; });
  EXPECT_EQ(tests, 0) << ir::print(f);
  for (const auto& [m, n] : {std::pair(1, 1), std::pair(3, 2), std::pair(4, 9)})
    expect_same(ir::parse_function(text), f, {m, n});
}

TEST(Partition, AFewIterationsThatAreAllBordersStandByThemselves) {
  expect_program(partitioned(R"(
loops f(X: in f32[2, 2], Y: out f32[2, 2]) stage scheduled {
  for i in 0..2 {
    for j in 0..2 { Y[i, j] = guard(1 <= i, X[i - 1, j], 2.0) + guard(i < 1, X[i + 1, j], 3.0) }
  }
})"),
                 R"(
loops f(X: in f32[2, 2], Y: out f32[2, 2]) stage scheduled {
  for j in 0..2 { Y[0, j] = 2.0 + X[1, j] }
  for j in 0..2 { Y[1, j] = X[0, j] + 3.0 }
})");
}

TEST(Partition, LeavesOutIterationsThatDoNothing) {
  // The last block of tiles has four rows of one tile.
  const char* text = R"(
loops f(X: in f32[32], Y: inout f32[32]) stage scheduled {
  for b in 0..2 {
    for t in 0..7 {
      alloc r: f32[4] register
      for i in 0..4 { if (b*7 + t)*4 + i < 30 { r[i] = X[(b*7 + t)*4 + i] } }
      for i in 0..4 { if (b*7 + t)*4 + i < 30 { Y[(b*7 + t)*4 + i] = r[i] + 1.0 } }
    }
  }
})";
  const ir::LoopFunc f = partitioned(text);
  int tests = 0;
  ir::walk(f.body, [&](const ir::If&) { ++tests; });
  EXPECT_EQ(tests, 0) << ir::print(f);
  expect_same(ir::parse_function(text), f, {});
}

TEST(Partition, KeepsIterationsOfWhichAnyStatementDoesSomething) {
  const char* text = R"(
loops f(X: in f32[40], Y: inout f32[40], Z: inout f32[9]) stage scheduled {
  for t in 0..9 {
    for i in 0..4 { if t*4 + i < 3 { Y[t*4 + i] = X[t*4 + i] } }
    if 2 <= t { Z[t] = X[t] }
  }
})";
  expect_same(ir::parse_function(text), partitioned(text), {});
}

TEST(Partition, MinimaInExtents) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..1000 stage scheduled {
  for i in 0..(n + 7) / 8 { for j in 0 +: min(8, n - i*8) { C[i*8 + j] = A[i*8 + j] } }
})";
  const ir::LoopFunc f = partitioned(text);
  bool constant = false;
  ir::walk(f.body,
           [&](const ir::For& loop) { constant = constant || ir::is_const(loop.extent, 8); });
  EXPECT_TRUE(constant) << ir::print(f);
  for (int64_t n : {1, 8, 9, 20}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, ShortTailsComputeNoMore) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..1000 stage scheduled {
  for i in 0..(n + 7) / 8 {
    alloc s: f32[8] register
    unrolled for r in 0..8 { s[r] = A[min(i*8 + r, n - 1)] }
    for k in 0..n { unrolled for r in 0..8 { s[r] sum= A[k] } }
    unrolled for r in 0..8 { if i*8 + r < n { C[i*8 + r] = s[r] } } }
})";
  const ir::LoopFunc f = partitioned(text);
  std::map<int64_t, int> extents;
  ir::walk(f.body, [&](const ir::For& loop) {
    if (loop.loop == ir::ForKind::Unrolled) ++extents[*ir::const_int(loop.extent)];
  });
  // Whole tiles and long tails; tails of up to 4; tails of up to 2.
  EXPECT_EQ(extents, (std::map<int64_t, int>{{8, 6}, {4, 3}, {2, 3}})) << ir::print(f);
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 16, 20, 24})
    expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, WhatIsReadElsewhereIsComputedInShortTails) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n], D: out f32[8]) where n in 1..1000 stage scheduled {
  for i in 0..(n + 7) / 8 {
    alloc s: f32[8] register
    unrolled for r in 0..8 { s[r] = A[min(i*8 + r, n - 1)] }
    unrolled for r in 0..8 { D[r] = s[7 - r] }
    unrolled for r in 0..8 { if i*8 + r < n { C[i*8 + r] = s[r] } } }
})";
  const ir::LoopFunc f = partitioned(text);
  for (int64_t n : {1, 2, 3, 7, 8, 9, 13, 24}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, WhatMayRunIsComputedInShortTails) {
  const char* text = R"(
loops f(A: in f32[n], B: in f32[8], C: out f32[n], D: inout f32[8]) where n in 1..1000 stage scheduled {
  for i in 0..(n + 7) / 8 {
    unrolled for r in 0..8 { if i*8 + r < n { C[i*8 + r] = A[i*8 + r] } }
    unrolled for r in 0..8 { if B[r] < 0.5 { D[r] = B[r] } } }
})";
  const ir::LoopFunc f = partitioned(text);
  for (int64_t n : {1, 2, 3, 7, 8, 9, 13}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, ATriangleIsLeftToItsInnerLoop) {
  const char* text = R"(
loops f(C: inout f32[n, n]) where n in 0..50 stage scheduled {
  for i in 0..n { for j in 0..n { if j <= i { C[i, j] = 1.0 } } }
})";
  const ir::LoopFunc f = partitioned(text);
  int outer = 0;
  ir::walk(f.body, [&](const ir::For& loop) {
    outer += loop.var.name() == "i";
    return true;
  });
  EXPECT_EQ(outer, 1) << ir::print(f);
  for (int64_t n : {0, 1, 5}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Partition, StaysWithinTheLimit) {
  const ir::LoopFunc f = partitioned(kConv, {.max_partitioned = 12});
  int statements = 0;
  ir::walk(f.body, [&](const ir::Store&) { ++statements; });
  EXPECT_EQ(statements, 1) << ir::print(f);
}

}  // namespace
}  // namespace tilewright::lower
