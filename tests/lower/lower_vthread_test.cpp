// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

TEST(LowerVthread, InterleavesStatementByStatement) {
  const char* text = R"(
loops f(A: in f32[2, 5], B: out f32[2, 5]) stage scheduled {
  vthread for v in 0..2 {
    alloc t: f32[4]
    for k in 0..5 {
      t[0] = A[v, k] * 2.0
      B[v, k] = t[0] + 1.0
    }
  }
})";
  const ir::LoopFunc f = after(lower_vthread, text);
  expect_program(f, R"(
loops f(A: in f32[2, 5], B: out f32[2, 5]) stage scheduled {
  alloc t: f32[2, 4]
  for k in 0..5 {
    t[0, 0] = A[0, k] * 2.0
    t[1, 0] = A[1, k] * 2.0
    B[0, k] = t[0, 0] + 1.0
    B[1, k] = t[1, 0] + 1.0
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(LowerVthread, WhatDoesNotDependOnTheThreadIsDoneOnce) {
  const char* text = R"(
loops f(A: in f32[8], B: out f32[2, 8]) stage scheduled {
  vthread for v in 0..2 {
    alloc w: f32[8]
    for k in 0..8 { w[k] = A[k] * 2.0 }
    for k in 0..8 { B[v, k] = w[k] + f32(v) }
  }
})";
  const ir::LoopFunc f = after(lower_vthread, text);
  expect_program(f, R"(
loops f(A: in f32[8], B: out f32[2, 8]) stage scheduled {
  alloc w: f32[8]
  for k in 0..8 { w[k] = A[k] * 2.0 }
  for k in 0..8 {
    B[0, k] = w[k] + f32(0)
    B[1, k] = w[k] + f32(1)
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(LowerVthread, LoopsBranchesAndLetsOfAThread) {
  const char* text = R"(
loops f(A: in f32[3, 8], B: inout f32[3, 8]) stage scheduled {
  vthread for v in 0..3 {
    let first = v*2
    for k in first..8 { B[v, k] = A[v, k] }
    if v < 2 { B[v, 0] = 1.0 }
    for k in 0..2 { B[v, first] = B[v, first] * 2.0 }
  }
})";
  const ir::LoopFunc f = after(lower_vthread, text);
  ir::walk(f.body, [](const ir::For& loop) { EXPECT_NE(loop.loop, ir::ForKind::VThread); });
  expect_same(ir::parse_function(text), f);
}

TEST(LowerVthread, Nested) {
  const char* text = R"(
loops f(A: in f32[2, 2, 4], B: out f32[2, 2, 4]) stage scheduled {
  vthread for u in 0..2 { vthread for v in 0..2 {
    alloc t: f32[]
    for k in 0..4 { t[] = A[u, v, k]  B[u, v, k] = t[] }
  } }
})";
  const ir::LoopFunc f = after(lower_vthread, text);
  const ir::Alloc* alloc = f.body.as<ir::Alloc>();
  ASSERT_NE(alloc, nullptr) << ir::print(f);
  EXPECT_EQ(alloc->buffer->rank(), 2);
  expect_same(ir::parse_function(text), f);
}

TEST(LowerVthread, NamesTheLoopWhoseExtentIsNotConstant) {
  const Diagnostic d = diagnostic_of([] {
    after(lower_vthread, R"(loops f(A: out i64[n]) where n in 1..9 stage scheduled {
  vthread for v in 0..n { A[v] = v }
})");
  });
  EXPECT_EQ(d.code, "lower.vthread.extent");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_NE(d.message.find("`v`"), std::string::npos);
}

TEST(LowerVthread, RefusesTooManyThreads) {
  const Diagnostic d = diagnostic_of([] {
    after(lower_vthread, R"(loops f(A: out i64[1000000]) stage scheduled {
  vthread for v in 0..1000000 { A[v] = v }
})");
  });
  EXPECT_EQ(d.code, "lower.vthread.size");
  EXPECT_EQ(d.at.line, 2);
}

}  // namespace
}  // namespace tilewright::lower
