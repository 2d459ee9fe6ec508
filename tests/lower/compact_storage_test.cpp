// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

ir::LoopFunc compacted(std::string_view text) { return after({compact_storage, simplify}, text); }

TEST(CompactStorage, ATileIsKeptForOneIteration) {
  const char* text = R"(
loops f(A: in f32[64], C: out f32[64]) stage scheduled {
  alloc t: f32[64]
  for io in 0..8 {
    for ii in 0..8 { t[io*8 + ii] = A[io*8 + ii] * 2.0 }
    for ii in 0..8 { C[io*8 + ii] = t[io*8 + 7 - ii] }
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_program(f, R"(
loops f(A: in f32[64], C: out f32[64]) stage scheduled {
  for io in 0..8 {
    alloc t: f32[8]
    for ii in 0..8 { t[ii] = A[io*8 + ii] * 2.0 }
    for ii in 0..8 { C[io*8 + ii] = t[7 - ii] }
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, ALaterAccessMayBeTheLowest) {
  const char* text = R"(
loops f(A: in f32[32], C: out f32[32]) stage scheduled {
  alloc t: f32[32]
  for i in 0..8 {
    t[i*4 + 3] = A[i*4]
    t[i*4 + 1] = A[i*4 + 1]
    for k in 0..4 { C[i*4 + k] = t[i*4 + 3 - k / 2 * 2] }
  }
})";
  const ir::LoopFunc f = compacted(text);
  ir::walk(f.body, [](const ir::Alloc& a) { EXPECT_EQ(ir::const_int(a.buffer->shape[0]), 3); });
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, ATileOfUnknownNumberWithItsTail) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..1000 stage scheduled {
  alloc t: f32[n]
  for io in 0..(n + 7) / 8 {
    for ii in 0..8 { if io*8 + ii < n { t[io*8 + ii] = A[io*8 + ii] * 2.0 } }
    for ii in 0..8 { if io*8 + ii < n { C[io*8 + ii] = t[io*8 + ii] } }
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_program(f, R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..1000 stage scheduled {
  for io in 0..(n + 7) / 8 {
    alloc t: f32[8]
    for ii in 0..8 { if io*8 + ii < n { t[ii] = A[io*8 + ii] * 2.0 } }
    for ii in 0..8 { if io*8 + ii < n { C[io*8 + ii] = t[ii] } }
  }
})");
  for (int64_t n : {1, 8, 21}) expect_same(ir::parse_function(text), f, {n});
}

TEST(CompactStorage, AHaloIsComputedAgain) {
  const char* text = R"(
loops f(A: in f32[34], C: out f32[32]) stage scheduled {
  alloc t: f32[34]
  for io in 0..4 {
    for ii in 0..10 { t[io*8 + ii] = A[io*8 + ii] * 2.0 }
    for ii in 0..8 { C[io*8 + ii] = t[io*8 + ii] + t[io*8 + ii + 1] + t[io*8 + ii + 2] }
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_program(f, R"(
loops f(A: in f32[34], C: out f32[32]) stage scheduled {
  for io in 0..4 {
    alloc t: f32[10]
    for ii in 0..10 { t[ii] = A[io*8 + ii] * 2.0 }
    for ii in 0..8 { C[io*8 + ii] = t[ii] + t[ii + 1] + t[ii + 2] }
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, AnAccumulatorWithItsInit) {
  const char* text = R"(
loops f(A: in f32[16, 6], C: out f32[16]) stage scheduled {
  alloc acc: f32[16] register
  for io in 0..4 {
    for k in 0..6 { for ii in 0..4 {
      if k == 0 { acc[io*4 + ii] = 0.0 }
      acc[io*4 + ii] sum= A[io*4 + ii, k]
    } }
    for ii in 0..4 { C[io*4 + ii] = acc[io*4 + ii] }
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_program(f, R"(
loops f(A: in f32[16, 6], C: out f32[16]) stage scheduled {
  for io in 0..4 {
    alloc acc: f32[4] register
    for k in 0..6 { for ii in 0..4 {
      if k == 0 { acc[ii] = 0.0 }
      acc[ii] sum= A[io*4 + ii, k]
    } }
    for ii in 0..4 { C[io*4 + ii] = acc[ii] }
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, AReusedScalarWithItsInit) {
  // The same element serves every iteration: only the init makes it private.
  const char* text = R"(
loops f(A: in f32[16, 6], C: out f32[16]) stage scheduled {
  alloc acc: f32[]
  for i in 0..16 {
    for k in 0..6 {
      if k == 0 { acc[] = 0.0 }
      acc[] sum= A[i, k]
    }
    C[i] = acc[]
  }
})";
  const ir::LoopFunc f = compacted(text);
  EXPECT_NE(f.body.as<ir::For>(), nullptr) << ir::print(f);
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, WhatIsCarriedStaysOutside) {
  const char* text = R"(
loops f(A: in f32[16], C: out f32[16]) stage scheduled {
  alloc s: f32[]
  for i in 0..16 {
    if i == 0 { s[] = 0.0 }
    s[] sum= A[i]
    C[i] = s[]
  }
})";
  const ir::LoopFunc f = compacted(text);
  EXPECT_NE(f.body.as<ir::Alloc>(), nullptr) << ir::print(f);
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, AFirstIterationThatMayBeSkippedInitialisesNothing) {
  const char* text = R"(
loops f(A: in f32[4, 6], C: out f32[4]) stage scheduled {
  alloc s: f32[]
  for i in 0..4 {
    for k in 0..6 {
      if k >= i {
        if k == 0 { s[] = 0.0 }
        s[] sum= A[i, k]
      }
    }
    C[i] = s[]
  }
})";
  const ir::LoopFunc f = compacted(text);
  EXPECT_NE(f.body.as<ir::Alloc>(), nullptr) << ir::print(f);
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, ARollingBufferStaysOutside) {
  const char* text = R"(
loops f(A: in f32[20], C: out f32[18]) stage scheduled {
  alloc t: f32[3]
  for i in 0..2 { t[i] = A[i] }
  for i in 0..18 {
    t[(i + 2) % 3] = A[i + 2]
    C[i] = t[i % 3] + t[(i + 1) % 3] + t[(i + 2) % 3]
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, ParallelIterationsGetTheirOwn) {
  const char* text = R"(
loops f(A: in f32[8, 8], C: out f32[8, 8]) stage scheduled {
  alloc t: f32[8, 8]
  parallel for i in 0..8 {
    for j in 0..8 { t[i, j] = A[i, j] }
    for j in 0..8 { C[i, j] = t[i, 7 - j] }
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_program(f, R"(
loops f(A: in f32[8, 8], C: out f32[8, 8]) stage scheduled {
  parallel for i in 0..8 {
    alloc t: f32[1, 8]
    for j in 0..8 { t[0, j] = A[i, j] }
    for j in 0..8 { C[i, j] = t[0, 7 - j] }
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, SharedStaysOutsideOfTheThreads) {
  const char* text = R"(
loops f(A: in f32[4, 32], C: out f32[4, 32]) stage scheduled {
  bind(block.x) for b in 0..4 {
    alloc s: f32[4, 32] shared
    bind(thread.x) for t in 0..32 {
      alloc r: f32[32] register
      r[t] = A[b, t]
      s[b, t] = r[t]
      barrier block
      C[b, t] = s[b, 31 - t]
    }
  }
})";
  const ir::LoopFunc f = compacted(text);
  expect_program(f, R"(
loops f(A: in f32[4, 32], C: out f32[4, 32]) stage scheduled {
  bind(block.x) for b in 0..4 {
    alloc s: f32[1, 32] shared
    bind(thread.x) for t in 0..32 {
      {
        alloc r: f32[1] register
        r[0] = A[b, t]
        s[0, t] = r[0]
      }
      barrier block
      C[b, t] = s[0, 31 - t]
    }
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(CompactStorage, LeavesWhatBoundIterationsShareAsItIs) {
  const char* text = R"(
loops f(A: in f32[4, 8], C: out f32[4, 8]) stage scheduled {
  bind(block.x) for b in 0..4 {
    alloc s: f32[4, 8]
    for t in 0..8 { s[b, t] = A[b, t] }
    for t in 0..8 { C[b, t] = s[b, 7 - t] }
  }
})";
  const ir::LoopFunc f = compacted(text);
  EXPECT_NE(ir::print(f).find("alloc s: f32[4, 8]"), std::string::npos) << ir::print(f);
  expect_same(ir::parse_function(text), f);
}

}  // namespace
}  // namespace tilewright::lower
