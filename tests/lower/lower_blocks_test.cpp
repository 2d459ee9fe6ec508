// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

TEST(LowerBlocks, PutsBindingsPredicateAndInitInPlace) {
  const char* text = R"(
loops f(A: in f32[n, 6], C: out f32[n]) where n in 1..100 stage scheduled {
  for io in 0..(n + 7) / 8 { for ii in 0..8 { for k in 0..6 {
    block c(i: spatial n = io*8 + ii, r: reduce 6 = k) where io*8 + ii < n
      reads A[i, r] writes C[i] {
      init { C[i] = 0.0 }
      C[i] sum= A[i, r]
    } } } }
})";
  const ir::LoopFunc f = after(lower_blocks, text);
  expect_program(f, R"(
loops f(A: in f32[n, 6], C: out f32[n]) where n in 1..100 stage scheduled {
  for io in 0..(n + 7) / 8 { for ii in 0..8 { for k in 0..6 {
    if io*8 + ii < n {
      if k == 0 { C[io*8 + ii] = 0.0 }
      C[io*8 + ii] sum= A[io*8 + ii, k]
    } } } }
})");
  for (int64_t n : {1, 8, 13}) expect_same(ir::parse_function(text), f, {n});
}

TEST(LowerBlocks, InitWithoutReductionAlwaysRuns) {
  expect_program(after(lower_blocks, R"(
loops f(C: out f32[4]) {
  for i in 0..4 {
    block c(v: spatial 4 = i) writes C[v] {
      init { C[v] = 1.0 }
      C[v] sum= 2.0
    } }
})"),
                 R"(
loops f(C: out f32[4]) stage scheduled {
  for i in 0..4 {
    C[i] = 1.0
    C[i] sum= 2.0
  }
})");
}

TEST(LowerBlocks, SeveralReductionIteratorsStartTogether) {
  expect_program(after(lower_blocks, R"(
loops f(A: in f32[4, 2, 3], C: out f32[4]) {
  for i in 0..4 { for a in 0..2 { for b in 0..3 {
    block c(v: spatial 4 = i, x: reduce 2 = a, y: reduce 3 = b) reads A[v, x, y] writes C[v] {
      init { C[v] = 0.0 }
      C[v] sum= A[v, x, y]
    } } } }
})"),
                 R"(
loops f(A: in f32[4, 2, 3], C: out f32[4]) stage scheduled {
  for i in 0..4 { for a in 0..2 { for b in 0..3 {
    if a == 0 && b == 0 { C[i] = 0.0 }
    C[i] sum= A[i, a, b]
  } } }
})");
}

TEST(LowerBlocks, NestedAndOpaqueBlocks) {
  const char* text = R"(
loops f(A: in f32[4, 4], C: out f32[4, 4]) {
  for i in 0..4 {
    opaque block row(v: spatial 4 = i) reads A[v, 0..4] writes C[v, 0..4] {
      for j in 0..4 {
        block one(w: spatial 4 = j) reads A[v, w] writes C[v, w] { C[v, w] = A[v, w] + f32(v*w) }
      }
    } }
})";
  const ir::LoopFunc f = after(lower_blocks, text);
  expect_program(f, R"(
loops f(A: in f32[4, 4], C: out f32[4, 4]) stage scheduled {
  for i in 0..4 { for j in 0..4 { C[i, j] = A[i, j] + f32(i*j) } }
})");
  expect_same(ir::parse_function(text), f);
}

}  // namespace
}  // namespace tilewright::lower
