// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

TEST(HoistInvariants, IndexArithmeticLeavesTheLoopsThatDoNotChangeIt) {
  const char* text = R"(
loops f(A: in f32[n*m + 1], C: out f32[n*m]) where n in 0..50, m in 0..50 stage final {
  for i in 0..n { for k in 0..m { C[i*m + k] = A[k + i*m + 1] } }
})";
  const ir::LoopFunc f = after(hoist_invariants, text);
  expect_program(f, R"(
loops f(A: in f32[n*m + 1], C: out f32[n*m]) where n in 0..50, m in 0..50 stage final {
  for i in 0..n {
    let row = i*m
    for k in 0..m { C[row + k] = A[row + k + 1] }
  }
})");
  for (int64_t n : {0, 3}) expect_same(ir::parse_function(text), f, {n, 4});
}

TEST(HoistInvariants, VariablesOfUnrolledLoopsStayWithTheConstants) {
  expect_program(after(hoist_invariants, R"(
loops f(A: in f32[4096], C: out f32[4096]) stage final {
  for i in 0..8 { unrolled for u in 0..2 { for k in 0..16 { unrolled for v in 0..2 {
    C[v*16 + u*256 + i*512 + k] = A[v*16 + u*256 + i*512 + k]
  } } } }
})"),
                 R"(
loops f(A: in f32[4096], C: out f32[4096]) stage final {
  for i in 0..8 { unrolled for u in 0..2 {
    let row = u*256 + i*512
    for k in 0..16 { unrolled for v in 0..2 {
      C[row + v*16 + k] = A[row + v*16 + k]
    } } } }
})");
}

TEST(HoistInvariants, BasesOfVectorsToo) {
  expect_program(after(hoist_invariants, R"(
loops f(A: in f32[4096], C: out f32[4096]) stage final {
  for i in 0..8 { for k in 0..32 {
    C[ramp(i*512 + k*16, 1, 16)] = A[ramp(i*512 + k*16, 1, 16)]
  } }
})"),
                 R"(
loops f(A: in f32[4096], C: out f32[4096]) stage final {
  for i in 0..8 {
    let row = i*512
    for k in 0..32 {
      C[ramp(row + k*16, 1, 16)] = A[ramp(row + k*16, 1, 16)]
    }
  }
})");
}

TEST(HoistInvariants, ConditionsMasksAndLets) {
  const char* text = R"(
loops f(A: in f32[64], n: in i64[], C: out f32[64]) where m in 0..64 stage final {
  for i in 0..8 {
    for k in 0..1 {
      let mask = ramp(i*8, 1, 8) < broadcast(m, 8)
      C[ramp(i*8, 1, 8)] = select(mask, A[ramp(i*8, 1, 8)], broadcast(0.0, 8))
    }
  }
})";
  const ir::LoopFunc f = after(hoist_invariants, text);
  expect_program(f, R"(
loops f(A: in f32[64], n: in i64[], C: out f32[64]) where m in 0..64 stage final {
  for i in 0..8 {
    let at = i*8
    let mask = ramp(at, 1, 8) < broadcast(m, 8)
    for k in 0..1 {
      C[ramp(at, 1, 8)] = select(mask, A[ramp(at, 1, 8)], broadcast(0.0, 8))
    }
  }
})");
  expect_same(ir::parse_function(text), f, {13});
}

TEST(HoistInvariants, LoadsStayWhereTheyAre) {
  const char* text = R"(
loops f(n: inout i64[], C: out i64[4, 4]) stage scheduled {
  for i in 0..4 { for k in 0..4 {
    let x = n[] + i*3
    C[i, k] = x + i*7
    n[] = n[] + 1
  } }
})";
  const ir::LoopFunc f = after(hoist_invariants, text);
  expect_program(f, R"(
loops f(n: inout i64[], C: out i64[4, 4]) stage scheduled {
  for i in 0..4 {
    let a = i*3
    let b = i*7
    for k in 0..4 {
      let x = a + n[]
      C[i, k] = b + x
      n[] = n[] + 1
    } }
})");
  expect_same(ir::parse_function(text), f);
}

}  // namespace
}  // namespace tilewright::lower
