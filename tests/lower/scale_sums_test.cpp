// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

/// A tile of two rows, with a scale for each column in groups of eight terms.
constexpr const char* kTile = R"(
loops f(X: in f32[2, 32], Q: in i8[32, 8], G: in f32[4, 8], C: out f32[2, 8]) stage scheduled {
  alloc S: f32[2, 8] register
  unrolled for r in 0..2 { S[r, ramp(0, 1, 8)] = broadcast(0.0, 8) }
  for g in 0..4 {
    for k in 0..8 {
      prefetch 2 Q[g * 8 + k, 0]
      unrolled for r in 0..2 {
        S[r, ramp(0, 1, 8)] sum= broadcast(X[r, g * 8 + k], 8) * (f32(Q[g * 8 + k, ramp(0, 1, 8)]) * G[g, ramp(0, 1, 8)])
      }
    }
  }
  unrolled for r in 0..2 { C[r, ramp(0, 1, 8)] = S[r, ramp(0, 1, 8)] }
})";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_unchanged(const std::string& text) {
  EXPECT_TRUE(ir::equal(after(scale_sums, text), ir::parse_function(text))) << text;
}

TEST(ScaleSums, SumsOfAGroupAreScaledAndNotItsTerms) {
  const ir::LoopFunc f = after(scale_sums, kTile);
  expect_program(f, R"(
loops f(X: in f32[2, 32], Q: in i8[32, 8], G: in f32[4, 8], C: out f32[2, 8]) stage scheduled {
  alloc S: f32[2, 8] register
  unrolled for r in 0..2 { S[r, ramp(0, 1, 8)] = broadcast(0.0, 8) }
  for g in 0..4 {
    alloc P: f32[2, 8] register
    unrolled for r in 0..2 { P[r, ramp(0, 1, 8)] = broadcast(0.0, 8) }
    for k in 0..8 {
      prefetch 2 Q[g * 8 + k, 0]
      unrolled for r in 0..2 {
        P[r, ramp(0, 1, 8)] sum= broadcast(X[r, g * 8 + k], 8) * f32(Q[g * 8 + k, ramp(0, 1, 8)])
      }
    }
    unrolled for r in 0..2 { S[r, ramp(0, 1, 8)] sum= P[r, ramp(0, 1, 8)] * G[g, ramp(0, 1, 8)] }
  }
  unrolled for r in 0..2 { C[r, ramp(0, 1, 8)] = S[r, ramp(0, 1, 8)] }
})");
  expect_same(ir::parse_function(kTile), f, {}, Order::Free);
}

TEST(ScaleSums, RowsThatAreNotThereStayOut) {
  std::string text =
      replaced(kTile, "S[r, ramp(0, 1, 8)] sum=", "if r < 1 { S[r, ramp(0, 1, 8)] sum=");
  text = replaced(text, "G[g, ramp(0, 1, 8)])", "G[g, ramp(0, 1, 8)]) }");
  const ir::LoopFunc f = after(scale_sums, text);
  EXPECT_NE(ir::print(f).find("S_unscaled"), std::string::npos);
  expect_same(ir::parse_function(text), f, {}, Order::Free);
}

TEST(ScaleSums, PartsOfATermAreTermsOfTheSameSum) {
  std::string text =
      replaced(kTile, "broadcast(X[r, g * 8 + k], 8)", "broadcast(X[r, g * 8 + k] + f32(p), 8)");
  text = replaced(text,
                  "S[r, ramp(0, 1, 8)] sum=", "unrolled for p in 0..2 { S[r, ramp(0, 1, 8)] sum=");
  text = replaced(text, "G[g, ramp(0, 1, 8)])", "G[g, ramp(0, 1, 8)]) }");
  const ir::LoopFunc f = after(scale_sums, text);
  EXPECT_NE(ir::print(f).find("S_unscaled"), std::string::npos);
  expect_same(ir::parse_function(text), f, {}, Order::Free);
}

TEST(ScaleSums, OnlyWhatTheLoopDoesNotChangeIsAScale) {
  expect_unchanged(replaced(kTile, "G[g, ramp(0, 1, 8)]", "G[k / 2, ramp(0, 1, 8)]"));
  expect_unchanged(replaced(kTile, "G[g, ramp(0, 1, 8)]", "S[0, ramp(0, 1, 8)]"));
}

TEST(ScaleSums, FloatsThatMayBeAsLargeAsAnyStay) {
  const std::string floats = replaced(kTile, "Q: in i8", "Q: in f32");
  const std::string loaded = "f32(Q[g * 8 + k, ramp(0, 1, 8)])";
  expect_unchanged(replaced(floats, loaded, "Q[g * 8 + k, ramp(0, 1, 8)]"));
  expect_unchanged(replaced(kTile, "Q: in i8", "Q: in i32"));
  const std::string less = replaced(kTile, loaded, "(" + loaded + " - broadcast(8.0, 8))");
  EXPECT_NE(ir::print(after(scale_sums, less)).find("S_unscaled"), std::string::npos);
}

TEST(ScaleSums, SumsThatSeveralIterationsShareStay) {
  expect_unchanged(replaced(kTile, "S[r, ramp(0, 1, 8)] sum=", "S[r / 2, ramp(0, 1, 8)] sum="));
  expect_unchanged(replaced(kTile, "S[r, ramp(0, 1, 8)] sum=", "S[r, ramp(r * 4, 1, 8)] sum="));
}

TEST(ScaleSums, OnlyWhereAScaleServesManyTerms) {
  expect_unchanged(replaced(replaced(kTile, "for g in 0..4", "for g in 0..4"), "for k in 0..8",
                            "for k in 0..3"));
}

TEST(ScaleSums, MemoryAndOtherStatementsStay) {
  expect_unchanged(replaced(kTile, "alloc S: f32[2, 8] register", "alloc S: f32[2, 8]"));
  expect_unchanged(replaced(kTile, "sum= broadcast", "max= broadcast"));
  expect_unchanged(replaced(kTile, "prefetch 2 Q[g * 8 + k, 0]", "C[0, 0] = 1.0"));
}

}  // namespace
}  // namespace tilewright::lower
