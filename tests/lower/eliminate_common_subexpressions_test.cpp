// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

constexpr PassFn kCse = eliminate_common_subexpressions;

TEST(EliminateCommonSubexpressions, SharesArithmeticAndLoadsOfOneStatement) {
  const char* text = R"(
loops f(X: in f32[16], Y: out f32[16]) stage final {
  for i in 0..4 { for j in 0..4 { Y[i*4 + j] = X[i*4 + j] * X[i*4 + j] } }
})";
  const ir::LoopFunc f = after(kCse, text);
  expect_program(f, R"(
loops f(X: in f32[16], Y: out f32[16]) stage final {
  for i in 0..4 { for j in 0..4 {
    let t = i*4 + j
    let x = X[t]
    Y[t] = x * x
  } }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(EliminateCommonSubexpressions, BetweenStatementsOnlyWhatReadsNoMemory) {
  const char* text = R"(
loops f(X: inout f32[8], Y: out f32[8]) stage final {
  for i in 0..4 {
    X[i*2] = X[i*2] + 1.0
    Y[i*2] = exp(X[i*2]) * exp(X[i*2])
    if i < 9 { Y[i*2 + 1] = X[i*2] }
  }
})";
  const ir::LoopFunc f = after(kCse, text);
  expect_program(f, R"(
loops f(X: inout f32[8], Y: out f32[8]) stage final {
  for i in 0..4 {
    let t = i*2
    X[t] = X[t] + 1.0
    {
      let e = exp(X[t])
      Y[t] = e * e
    }
    if i < 9 { Y[t + 1] = X[t] }
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(EliminateCommonSubexpressions, LoopsOfOneNameStayApart) {
  // Unrolling leaves two loops over the same variable.
  const char* text = R"(
loops f(Y: out f32[2, 12]) stage scheduled {
  unrolled for u in 0..2 { for k in 0..4 { for j in 0..3 { Y[u, k*3 + j] = f32(k*3) } } }
})";
  const ir::LoopFunc f = after({unroll, kCse}, text);
  expect_same(ir::parse_function(text), f);
}

TEST(EliminateCommonSubexpressions, GuardedLoadsStayGuarded) {
  const char* text = R"(
loops f(X: in f32[4], Y: out f32[8]) stage final {
  for i in 0..8 { Y[i] = guard(i < 4, X[i] * X[i], 0.0) + guard(i < 4, X[i] * X[i], 1.0) }
})";
  const ir::LoopFunc f = after(kCse, text);
  expect_same(ir::parse_function(text), f);
}

TEST(EliminateCommonSubexpressions, WhatBothBranchesUseStandsBeforeThem) {
  expect_program(after(kCse, R"(
loops f(Y: out f32[8]) stage final {
  for i in 0..8 { if i < 4 { Y[i] = f32(i) / 3.0 } else { Y[i] = f32(i) / 3.0 + 1.0 } }
})"),
                 R"(
loops f(Y: out f32[8]) stage final {
  for i in 0..8 {
    let t = f32(i) / 3.0
    if i < 4 { Y[i] = t } else { Y[i] = t + 1.0 }
  }
})");
}

}  // namespace
}  // namespace tilewright::lower
