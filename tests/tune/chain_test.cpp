// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/chain.h"

#include <gtest/gtest.h>

#include "support/str.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

struct Shape {
  std::string batch, queries, keys, size;
};

/// Attention with heads beside each other, as exporters leave them: queries, keys and values are
/// read, and the result is written, in another order than the scores.
std::string attention(const Shape& s, const std::string& where = "") {
  const std::string b = s.batch, q = s.queries, k = s.keys, d = s.size;
  return str("te attention(Q: f32[", b, ", ", q, ", 3, ", d, "], K: f32[", b, ", ", k, ", 3, ", d,
             "], V: f32[", b, ", ", k, ", 3, ", d, "], M: f32[", k, "])", where, " {\n",
             "  S[b in ", b, ", h in 3, s in ", q, ", t in ", k, "] = sum(d in ", d,
             ") Q[b, s, h, d] * K[b, t, h, d]\n",  //
             "  L[b in ", b, ", h in 3, s in ", q, ", t in ", k, "] = S[b, h, s, t] * 0.5 + M[t]\n",
             "  m[b in ", b, ", h in 3, s in ", q, ", t in 1] = max(k in ", k, ") L[b, h, s, k]\n",
             "  E[b in ", b, ", h in 3, s in ", q, ", t in ", k,
             "] = exp(L[b, h, s, t] - m[b, h, s, 0])\n",  //
             "  l[b in ", b, ", h in 3, s in ", q, ", t in 1] = sum(k in ", k, ") E[b, h, s, k]\n",
             "  P[b in ", b, ", h in 3, s in ", q, ", t in ", k,
             "] = E[b, h, s, t] / l[b, h, s, 0]\n",  //
             "  O[b in ", b, ", h in 3, s in ", q, ", i in ", d, "] = sum(t in ", k,
             ") P[b, h, s, t] * V[b, t, h, i]\n",  //
             "  Y[b in ", b, ", s in ", q, ", h in 3, i in ", d, "] = O[b, h, s, i]\n",
             "  return Y\n}");
}

bool in_pieces(const ir::LoopFunc& blocks, const ir::TargetSpec& spec) {
  const std::string trace = schedule::print(choose_schedule(blocks, spec).trace());
  return trace.find("\n  compute_at %S") != std::string::npos;
}

TEST(Chain, KeepsResults) {
  for (const Shape& shape : {Shape{"1", "24", "24", "8"}, Shape{"2", "7", "11", "5"},
                             Shape{"1", "48", "16", "16"}, Shape{"1", "1", "9", "4"}}) {
    const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(attention(shape)));
    for (const ir::TargetSpec& spec :
         {small_machine(), target::parse_target("x86-64-v3"), target::parse_target("x86-64-v4")})
      EXPECT_EQ(wrong_choice(blocks, spec), "") << spec.name;
  }
}

TEST(Chain, KeepsResultsOfAnySizes) {
  const Shape shape{"1", "n", "n", "8"};
  const ir::LoopFunc blocks =
      lower::to_blocks(te::parse_program(attention(shape, " where n in 1..512")));
  for (const ir::TargetSpec& spec : {small_machine(), target::parse_target("x86-64-v4")})
    EXPECT_EQ(wrong_choice(blocks, spec, {{1}, {5}, {19}}), "") << spec.name;
}

TEST(Chain, MakesScoresWhereTheyAreUsed) {
  const ir::TargetSpec spec = target::parse_target("x86-64-v4");
  for (const char* n : {"24", "512", "37", "384"})
    EXPECT_TRUE(in_pieces(lower::to_blocks(te::parse_program(attention({"1", n, n, "16"}))), spec))
        << n;
}

TEST(Chain, IsNoneForLessThanAVectorOfResults) {
  const auto chained = [](const char* size) {
    return in_pieces(lower::to_blocks(te::parse_program(attention({"1", "128", "128", size}))),
                     target::parse_target("x86-64-v4"));
  };
  EXPECT_TRUE(chained("16"));
  EXPECT_FALSE(chained("15"));
}

TEST(Chain, IsNoneWhenTheScoresAreAResult) {
  const std::string text =
      "te c(A: f32[8, 16], B: f32[16, 32], C: f32[32, 16]) {\n"
      "  S[i in 8, j in 32] = sum(k in 16) A[i, k] * B[k, j]\n"
      "  m[i in 8, j in 1] = max(k in 32) S[i, k]\n"
      "  P[i in 8, j in 32] = S[i, j] - m[i, 0]\n"
      "  O[i in 8, j in 16] = sum(k in 32) P[i, k] * C[k, j]\n  return O, S\n}";
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(text));
  EXPECT_FALSE(in_pieces(blocks, target::parse_target("x86-64-v4")));
  EXPECT_EQ(wrong_choice(blocks, small_machine()), "");
}

// Twelve sums, three values of one factor and one of the other are all the registers there are.
TEST(Chain, TheFactorWithFewerRegistersStaysInThem) {
  const ir::TargetSpec spec = target::parse_target("x86-64-v3");
  const ir::LoopFunc blocks =
      canonical(lower::to_blocks(te::parse_program(attention({"1", "128", "128", "32"}))));
  const auto scheduled = [&](const char* tile) {
    schedule::Schedule s(blocks, spec.instructions);
    Choices choices;
    choices.answer("O.rows", "all");
    choices.answer("O.tile_of_scores", tile);
    schedule_stages(s, spec, {}, choices);
    const std::string text = ir::print(s.func());
    const size_t first = text.find("for vd_0"), last = text.find("block S(", first);
    return text.substr(first, last - first);
  };
  const std::string few = scheduled("3x4"), many = scheduled("6x2");
  EXPECT_LT(few.find("for vt_1_0"), few.find("for vs_1")) << few;
  EXPECT_NE(few.find("for vs_1"), std::string::npos) << few;
  EXPECT_LT(many.find("for vs_1"), many.find("for vt_1_0")) << many;
  EXPECT_NE(many.find("for vt_1_0"), std::string::npos) << many;
}

}  // namespace
}  // namespace tilewright::tune
