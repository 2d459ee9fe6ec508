// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

TEST(Unroll, WritesOutEachIteration) {
  expect_program(after(unroll, R"(
loops f(A: out i64[4]) stage scheduled {
  unrolled for i in 1..3 { A[i] = i }
  A[0] = 0
  A[3] = 3
})"),
                 R"(
loops f(A: out i64[4]) stage scheduled {
  A[1] = 1
  A[2] = 2
  A[0] = 0
  A[3] = 3
})");
}

TEST(Unroll, NestedLoopsAndShapesThatDependOnThem) {
  const char* text = R"(
loops f(A: out i64[2, 3]) stage scheduled {
  unrolled for i in 0..2 {
    for k in 0..1 {
      unrolled for j in 0..3 {
        alloc t: i64[i + 1]
        t[i] = i*10 + j
        A[i, j] = t[i]
      } } }
})";
  const ir::LoopFunc f = after(unroll, text);
  ir::walk(f.body, [](const ir::For& loop) { EXPECT_NE(loop.loop, ir::ForKind::Unrolled); });
  expect_same(ir::parse_function(text), f);
}

TEST(Unroll, FoldsWhatBecomesConstant) {
  expect_program(after(unroll, R"(
loops f(A: out f32[64], B: in f32[64]) stage final {
  for k in 0..4 {
    unrolled for i in 0..2 {
      unrolled for j in 0..2 {
        if i == j { A[k*16 + i*8 + j + 3] = B[i + k*16 + j*4 + 1] }
      } } }
})"),
                 R"(
loops f(A: out f32[64], B: in f32[64]) stage final {
  for k in 0..4 {
    A[k*16 + 3] = B[k*16 + 1]
    A[k*16 + 12] = B[k*16 + 6]
  }
})");
}

TEST(Unroll, ALetMayBeConstantInOneCopyOnly) {
  const char* text = R"(
loops f(A: out i64[2, n]) where n in 1..9 stage scheduled {
  unrolled for i in 0..2 {
    for j in 0..n {
      let x = select(i == 0, 3, j*j)
      A[i, j] = x + 1
    } }
})";
  expect_same(ir::parse_function(text), after(unroll, text), {4});
}

TEST(Unroll, ExtentZeroLeavesNothing) {
  expect_program(after(unroll, R"(
loops f(A: out i64[1]) stage scheduled {
  unrolled for i in 0..0 { A[0] = 2 }
  A[0] = 1
})"),
                 "loops f(A: out i64[1]) stage scheduled { A[0] = 1 }");
}

TEST(Unroll, NamesTheLoopWhoseExtentIsNotConstant) {
  const Diagnostic d = diagnostic_of([] {
    after(unroll, R"(loops f(A: out i64[n]) where n in 1..9 stage scheduled {
  unrolled for i in 0..n { A[i] = i }
})");
  });
  EXPECT_EQ(d.code, "lower.unroll.extent");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_NE(d.message.find("`i`"), std::string::npos);
  EXPECT_NE(d.notes[0].find("extent n"), std::string::npos);
}

TEST(Unroll, RefusesAMillionIterations) {
  const Diagnostic d = diagnostic_of([] {
    after(unroll, R"(loops f(A: out i64[1000, 1000]) stage scheduled {
  unrolled for i in 0..1000 { unrolled for j in 0..1000 { A[i, j] = 0 } }
})");
  });
  EXPECT_EQ(d.code, "lower.unroll.size");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_NE(d.message.find("`i`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::lower
