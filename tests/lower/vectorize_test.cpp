// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

Diagnostic refusal(std::string_view text) {
  return diagnostic_of([&] { after(vectorize, text); });
}

TEST(Vectorize, LoadsAndStoresBecomeRamps) {
  const char* text = R"(
loops f(A: in f32[64], s: in f32[], C: out f32[64]) stage scheduled {
  for i in 0..8 { vectorized for j in 0..8 { C[i*8 + j] = A[i*8 + j] * s[] } }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[64], s: in f32[], C: out f32[64]) stage scheduled {
  for i in 0..8 {
    C[ramp(i*8, 1, 8)] = A[ramp(i*8, 1, 8)] * broadcast(s[], 8)
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Vectorize, ATailBecomesAMask) {
  const char* text = R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..100 stage scheduled {
  for i in 0..(n + 7) / 8 {
    vectorized for j in 0..8 { if i*8 + j < n { C[i*8 + j] = A[i*8 + j] } }
  }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[n], C: out f32[n]) where n in 1..100 stage scheduled {
  for i in 0..(n + 7) / 8 {
    let m = ramp(i*8, 1, 8) < broadcast(n, 8)
    C[ramp(i*8, 1, 8)] mask(m) = A[ramp(i*8, 1, 8)] mask(m)
  }
})");
  for (int64_t n : {1, 7, 8, 9, 30}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Vectorize, AKnownTailThatFillsAVectorNeedsNoMask) {
  const char* text = R"(
loops f(A: in f32[12], C: out f32[12]) stage scheduled {
  vectorized for j in 0..8 { if j < 4 { C[8 + j] = A[8 + j] } }
  vectorized for j in 0..8 { C[j] = A[j] }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[12], C: out f32[12]) stage scheduled {
  C[ramp(8, 1, 4)] = A[ramp(8, 1, 4)]
  C[ramp(0, 1, 8)] = A[ramp(0, 1, 8)]
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Vectorize, ATailOfOneElementIsThatElement) {
  const char* text = R"(
loops f(A: in f32[9], C: out f32[1]) stage scheduled {
  vectorized for j in 0..4 { if j < 1 { C[0] = A[8] } }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[9], C: out f32[1]) stage scheduled {
  if 0 < 1 { C[0] = A[8] }
})");
  const char* several = R"(
loops f(A: in f32[9], C: out f32[1]) stage scheduled {
  unrolled for i in 0..2 { vectorized for j in 0..4 { if i*4 + j < 1 { C[0] = A[8] } } }
})";
  expect_same(ir::parse_function(several), after(vectorize, several));
}

TEST(Vectorize, FusedLoopsTouchElementsInOrder) {
  const char* text = R"(
loops f(A: in f32[6, 4], C: out f32[6, 4]) stage scheduled {
  for i in 0..3 { vectorized for j in 0..8 { C[i*2 + j/4, j % 4] = A[i*2 + j/4, j % 4] } }
})";
  expect_same(ir::parse_function(text), after(vectorize, text));
}

TEST(Vectorize, BothBranchesAndWhatIsSharedUnderAMask) {
  const char* text = R"(
loops f(A: in f32[n], s: in f32[n], C: inout f32[16], D: inout f32[]) where n in 0..16
    stage scheduled {
  vectorized for j in 0..16 {
    if j < n { C[j] = A[j] * s[n - 1]  D[] sum= A[j] } else { C[j] sum= 1.0 }
  }
})";
  const ir::LoopFunc f = after(vectorize, text);
  for (int64_t n : {0, 1, 9, 16}) expect_same(ir::parse_function(text), f, {n}, Order::Free);
}

TEST(Vectorize, AGuardBecomesMaskedLoads) {
  const char* text = R"(
loops f(A: in f32[6], s: in f32[6], C: out f32[8]) stage scheduled {
  vectorized for j in 0..8 {
    C[j] = guard(0 <= j - 1 && j - 1 < 6, A[j - 1], 0.0) + guard(j < 0, s[j*0 - 1], 2.0)
  }
})";
  const ir::LoopFunc f = after({simplify, vectorize}, text);
  expect_same(ir::parse_function(text), f);
}

TEST(Vectorize, LanesThatMeetInOneElementAreReduced) {
  const char* text = R"(
loops f(A: in f32[4, 8], C: out f32[4]) stage scheduled {
  for i in 0..4 {
    C[i] = 0.0
    vectorized for k in 0..8 { C[i] sum= A[i, k] }
  }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[4, 8], C: out f32[4]) stage scheduled {
  for i in 0..4 {
    C[i] = 0.0
    C[i] sum= reduce_add(A[i, ramp(0, 1, 8)])
  }
})");
  expect_same(ir::parse_function(text), f, {}, Order::Free);
}

TEST(Vectorize, OwnBuffersGetALaneDimension) {
  const char* text = R"(
loops f(A: in f32[8, 3], C: out f32[8]) stage scheduled {
  vectorized for j in 0..8 {
    alloc t: f32[3] register
    alloc half: f32[] register
    half[] = 0.5
    for k in 0..3 { t[k] = A[j, k] * half[] }
    let x = t[0] + t[1]
    C[j] = x * t[2]
  }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[8, 3], C: out f32[8]) stage scheduled {
  alloc t: f32[3, 8] register
  alloc half: f32[] register
  half[] = 0.5
  for k in 0..3 {
    t[k, ramp(0, 1, 8)] = A[ramp(0, 1, 8), k] * broadcast(half[], 8)
  }
  let x: f32x8 = t[0, ramp(0, 1, 8)] + t[1, ramp(0, 1, 8)]
  C[ramp(0, 1, 8)] = x * t[2, ramp(0, 1, 8)]
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Vectorize, OddExtentsBecomeSeveralVectors) {
  const char* text = R"(
loops f(A: in f32[14], C: out f32[14]) stage scheduled {
  vectorized for j in 0..14 { C[j] = A[j] + f32(j) }
})";
  const ir::LoopFunc f = after(vectorize, text);
  expect_program(f, R"(
loops f(A: in f32[14], C: out f32[14]) stage scheduled {
  C[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] + f32(ramp(0, 1, 8))
  C[ramp(8, 1, 4)] = A[ramp(8, 1, 4)] + f32(ramp(8, 1, 4))
  C[ramp(12, 1, 2)] = A[ramp(12, 1, 2)] + f32(ramp(12, 1, 2))
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Vectorize, LongLoopsBecomeLoopsOfVectors) {
  const char* text = R"(
loops f(A: in f32[37], C: out f32[37]) stage scheduled {
  vectorized for j in 0..37 { C[j] = A[j] }
})";
  const ir::LoopFunc f = after(vectorize, text, {.max_lanes = 16});
  expect_program(f, R"(
loops f(A: in f32[37], C: out f32[37]) stage scheduled {
  for j in 0..2 { C[ramp(j*16, 1, 16)] = A[ramp(j*16, 1, 16)] }
  C[ramp(32, 1, 4)] = A[ramp(32, 1, 4)]
  C[36] = A[36]
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Vectorize, ExtentsZeroAndOne) {
  expect_program(after(vectorize, R"(
loops f(C: inout f32[4]) stage scheduled {
  vectorized for j in 0..0 { C[j] = 1.0 }
  vectorized for j in 2..3 { C[j] = 2.0 }
})"),
                 "loops f(C: inout f32[4]) stage scheduled { C[2] = 2.0 }");
}

TEST(Vectorize, IndependenceThroughInnerLoops) {
  // Different i differ by 8 or more, lanes by less.
  const char* text = R"(
loops f(C: inout f32[64]) stage scheduled {
  vectorized for j in 0..8 { for i in 0..8 { C[i*8 + j] sum= C[i*8 + j] * 2.0 } }
})";
  expect_same(ir::parse_function(text), after(vectorize, text));
}

TEST(Vectorize, TupleReducersPerLane) {
  const char* text = R"(
reducer argmax(i: i64, x: f32 | j: i64, y: f32)
  = (select(y > x || y == x && j < i, j, i), max(x, y)) identity (9223372036854775807, -inf:f32)
loops f(A: in f32[6, 8], I: out i64[8], X: out f32[8]) stage scheduled {
  vectorized for j in 0..8 { I[j] = 9223372036854775807  X[j] = -inf:f32 }
  for k in 0..6 { vectorized for j in 0..8 { I[j], X[j] argmax= k, A[k, j] } }
})";
  expect_same(ir::parse_function(text), after({vectorize, lower_updates}, text));
}

TEST(Vectorize, RefusesACarriedDependence) {
  const Diagnostic d = refusal(R"(loops f(C: inout f32[9]) stage scheduled {
  vectorized for j in 0..8 {
    C[j + 1] = C[j] * 2.0
  }
})");
  EXPECT_EQ(d.code, "lower.vectorize.conflict");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_NE(d.message.find("`j`"), std::string::npos);
  EXPECT_NE(d.notes[0].find("`C`"), std::string::npos);
}

TEST(Vectorize, RefusesAScatterThatMayCollide) {
  const Diagnostic d = refusal(R"(loops f(I: in i64[8], C: inout f32[9]) stage scheduled {
  vectorized for j in 0..8 { C[I[j]] = 1.0 }
})");
  EXPECT_EQ(d.code, "lower.vectorize.conflict");
  EXPECT_EQ(d.at.line, 2);
}

TEST(Vectorize, RefusesLanesThatCollideTwoByTwo) {
  const Diagnostic d = refusal(R"(loops f(A: in f32[8], C: inout f32[4]) stage scheduled {
  vectorized for j in 0..8 { C[j / 2] sum= A[j] }
})");
  EXPECT_EQ(d.code, "lower.vectorize.conflict");
}

TEST(Vectorize, LanesThatAreOffAddNothing) {
  const char* text = R"(
loops f(A: in i64[8], s: inout i64[1]) where n in 0..8 stage scheduled {
  vectorized for j in 0..8 { if j < n { s[0] sum= A[j] + 1 } }
})";
  for (const int64_t n : {0, 3, 8})
    expect_same(ir::parse_function(text), after(vectorize, text), {n});
}

TEST(Vectorize, RefusesARunningSum) {
  const Diagnostic d =
      refusal(R"(loops f(A: in f32[8], C: out f32[8], s: inout f32[]) stage scheduled {
  vectorized for j in 0..8 { s[] sum= A[j]  C[j] = s[] }
})");
  EXPECT_EQ(d.code, "lower.vectorize.conflict");
}

TEST(Vectorize, RefusesTheLanesOfATupleReducer) {
  const Diagnostic d = refusal(R"(
reducer argmax(i: i64, x: f32 | j: i64, y: f32)
  = (select(y > x, j, i), max(x, y)) identity (0, -inf:f32)
loops f(A: in f32[8], I: inout i64[], X: inout f32[]) stage scheduled {
  vectorized for j in 0..8 { I[], X[] argmax= j, A[j] }
})");
  EXPECT_EQ(d.code, "lower.vectorize.reducer");
  EXPECT_EQ(d.at.line, 5);
  EXPECT_NE(d.notes[0].find("`argmax`"), std::string::npos);
}

TEST(Vectorize, RefusesWhatHasNoVectorForm) {
  const Diagnostic loop = refusal(R"(loops f(C: inout i64[8]) stage scheduled {
  vectorized for j in 0..8 {
    while C[j] < 3 { C[j] = C[j] + 1 }
  }
})");
  EXPECT_EQ(loop.code, "lower.vectorize.body");
  EXPECT_EQ(loop.at.line, 3);
  EXPECT_NE(loop.message.find("`j`"), std::string::npos);
  EXPECT_NE(loop.notes[0].find("while"), std::string::npos);

  const Diagnostic extent = refusal(R"(loops f(C: inout f32[8, 8]) stage scheduled {
  vectorized for j in 0..8 { for k in 0..j { C[j, k] = 1.0 } }
})");
  EXPECT_EQ(extent.code, "lower.vectorize.inner_extent");

  const Diagnostic nested = refusal(R"(loops f(C: inout f32[8, 8]) stage scheduled {
  vectorized for j in 0..8 { vectorized for k in 0..8 { C[j, k] = 1.0 } }
})");
  EXPECT_EQ(nested.code, "lower.vectorize.nested");
  EXPECT_NE(nested.notes[0].find("`k`"), std::string::npos);
}

TEST(Vectorize, NamesTheLoopWhoseExtentIsNotConstant) {
  const Diagnostic d = refusal(R"(loops f(C: out f32[n]) where n in 0..9 stage scheduled {
  vectorized for j in 0..n { C[j] = 1.0 }
})");
  EXPECT_EQ(d.code, "lower.vectorize.extent");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_NE(d.message.find("`j`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::lower
