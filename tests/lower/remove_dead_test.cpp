// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

TEST(RemoveDead, StoresLetsAllocationsLoopsAndBranches) {
  expect_program(after(remove_dead, R"(
loops f(X: in f32[4], Y: out f32[4]) stage scheduled {
  alloc t: f32[4]
  alloc u: f32[4]
  let n = 3
  for i in 0..4 { u[i] = X[i] }
  for i in 0..4 { t[i] = u[i]  t[i] sum= 1.0 }
  for i in 0..4 {
    let k = i*2
    if i < n { t[i] = 2.0 } else { Y[i] = 1.0 }
    if k < 2 { t[i] = 2.0 }
    if i < n { Y[i] = 2.0 } else { t[i] = 1.0 }
  }
})"),
                 R"(
loops f(X: in f32[4], Y: out f32[4]) stage scheduled {
  let n = 3
  for i in 0..4 {
    if i < n { } else { Y[i] = 1.0 }
    if i < n { Y[i] = 2.0 }
  }
})");
}

TEST(RemoveDead, KeepsShapesAndTheTargetsOfOneUpdate) {
  const char* text = R"(
reducer argmax(i: i64, x: f32 | j: i64, y: f32)
  = (select(y > x, j, i), max(x, y)) identity (0, -inf:f32)
loops f(X: in f32[4], Y: out i64[]) where n in 1..4 stage scheduled {
  alloc best: f32[]
  let m = n*2
  alloc t: f32[m]
  best[] = -inf:f32
  Y[] = 0
  for i in 0..4 { t[0] = X[i]  Y[], best[] argmax= i, t[0] }
})";
  const ir::LoopFunc f = after(remove_dead, text);
  expect_same(ir::parse_function(text), f, {2});
  int stores = 0;
  ir::walk(f.body, [&](const ir::Store&) { ++stores; });
  EXPECT_EQ(stores, 3) << ir::print(f);
}

}  // namespace
}  // namespace tilewright::lower
