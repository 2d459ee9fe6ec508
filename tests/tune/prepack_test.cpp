// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/prepack.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

ir::LoopFunc blocks_of(const char* text) { return lower::to_blocks(te::parse_program(text)); }

TEST(Canonical, JoinsWhatRunsTogetherAndDropsOnes) {
  const ir::LoopFunc f = canonical(
      blocks_of("te r(X: f32[1, 4, 5, 6], b: f32[4]) {\n  Y[n in 1, c in 4, y in 5, x in 6] = "
                "max(X[n, c, y, x] + b[c], 0.0)\n  return Y\n}"));
  for (const size_t i : {0, 2}) {
    ASSERT_EQ(f.params[i].buffer->rank(), 2);
    EXPECT_TRUE(ir::is_const(f.params[i].buffer->shape[0], 4));
    EXPECT_TRUE(ir::is_const(f.params[i].buffer->shape[1], 30));
  }
}

TEST(Canonical, LeavesDimensionsThatOneStageReadsApart) {
  const ir::LoopFunc f =
      canonical(blocks_of("te r(X: f32[5, 6]) {\n  Y[y in 5, x in 6] = X[y, x] * 2.0\n"
                          "  Z[x in 6, y in 5] = Y[y, x]\n  return Y, Z\n}"));
  for (const ir::Param& p : f.params) EXPECT_EQ(p.buffer->rank(), 2) << p.buffer->name;
}

TEST(Prepack, PreparedOnceAndRunGivesWhatTheWholeGives) {
  const ir::LoopFunc before = blocks_of(
      "te m(A: f32[9, 12], W: f32[12, 37]) {\n"
      "  C[y in 9, x in 37] = sum(k in 12) A[y, k] * W[k, x]\n  return C\n}");
  const ir::LoopFunc whole = choose(before, small_machine(), {"W"});
  const Prepacked parts = prepack(whole, {"W"});
  ASSERT_EQ(parts.packed.size(), 1u);
  ir::verify(parts.prepare);
  ir::verify(parts.run);
  for (const ir::Param& p : parts.run.params) EXPECT_NE(p.buffer->name, "W");

  const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact};
  const auto shapes = shapes_at(before, {});
  std::vector<ir::Array> all;
  for (size_t i = 0; i < shapes.size(); ++i)
    all.push_back(ir::random_array(ir::Elem::F32, shapes[i], 3 + i, ir::Arithmetic::Exact));
  const ir::Array packed =
      ir::random_array(ir::Elem::F32, shapes_at(parts.run, {})[1], 9, ir::Arithmetic::Exact);
  std::vector<ir::Array> prepare = {all[1], packed};
  ir::interpret(parts.prepare, prepare, {}, options);
  std::vector<ir::Array> run = {all[0], prepare[1], all[2]};
  ir::interpret(parts.run, run, {}, options);
  ir::interpret(before, all, {}, options);
  EXPECT_EQ(run[2].cells, all[2].cells);
}

TEST(Prepack, KeepsNothingThatOnlyThePreparationReads) {
  // Weights in another order, and then in panels: the run reads the panels.
  const ir::LoopFunc before = blocks_of(
      "te m(A: f32[9, 12], W: f32[12, 37]) {\n"
      "  V[k in 12, x in 37] = W[11 - k, x]\n"
      "  C[y in 9, x in 37] = sum(k in 12) A[y, k] * V[k, x]\n  return C\n}");
  const ir::LoopFunc whole = choose(before, small_machine(), {"W"});
  const Prepacked parts = prepack(whole, {"W"});
  ASSERT_EQ(parts.packed.size(), 1u);
  EXPECT_EQ(parts.packed[0]->name, "V_global");
  EXPECT_EQ(parts.prepare.params.size(), 2u);
  ir::verify(parts.prepare);
  ir::verify(parts.run);
  bool turned = false;  // in the run, or the panels would not lie in the order of its loops
  ir::walk(parts.run.body, [&](const ir::Load& l) { turned = turned || l.buffer->name == "W"; });
  EXPECT_FALSE(turned);
  EXPECT_EQ(wrong_choice(before, small_machine(), {}), "");
}

TEST(Prepack, PreparesWithoutTheSizesOfARun) {
  const ir::LoopFunc whole =
      choose(blocks_of("te m(A: f32[n, 12], W: f32[12, 37]) where n in 1..64 {\n"
                       "  C[y in n, x in 37] = sum(k in 12) A[y, k] * W[k, x]\n  return C\n}"),
             small_machine(), {"W"});
  const Prepacked parts = prepack(whole, {"W"});
  ASSERT_EQ(parts.packed.size(), 1u);
  EXPECT_TRUE(parts.prepare.symbols.empty());
  EXPECT_EQ(parts.run.symbols.size(), 1u);
  ir::verify(parts.prepare);
}

TEST(ScanSteps, TakeTheCopyOfConstantsOutOfTheLoop) {
  const ir::LoopFunc whole = choose(
      blocks_of("te rnn(x: f32[5, 2, 12], U: f32[12, 12]) {\n  z[b in 2, i in 12] = 0.0\n"
                "  h = scan(t in 5, prev = z) {\n    c[b in 2, i in 12] = prev[b, i]\n"
                "    r[b in 2, i in 12] = sum(j in 12) c[b, j] * U[i, j]\n"
                "    next[b in 2, i in 12] = tanh(x[t, b, i] + r[b, i])\n    yield next\n  }\n"
                "  return h\n}"),
      small_machine(), {"U"});
  const Prepacked parts = prepack(whole, {"U"});
  EXPECT_EQ(parts.packed.size(), 1u) << ir::print(whole);
  EXPECT_NE(ir::print(whole).find("alloc r: f32[2, 12]"), std::string::npos) << ir::print(whole);
}

TEST(Prepack, LeavesWhatReadsNothingToTheRun) {
  const ir::LoopFunc f = ir::parse_function(
      "loops f(W: in f32[8], B: out f32[8]) {\n  alloc Z: f32[8]\n"
      "  for i in 0..8 { Z[i] = 0.0 }\n  for i in 0..8 { B[i] = Z[i] + W[i] }\n}");
  EXPECT_TRUE(prepack(f, {"W"}).packed.empty());
}

TEST(Prepack, KeepsAResultWithoutElements) {
  const Prepacked parts =
      prepack(ir::parse_function("loops f(W: in f32[8], Y: out f32[8], Z: out f32[0]) {\n"
                                 "  alloc T: f32[8]\n"
                                 "  for i in 0..8 { T[i] = W[i] }\n"
                                 "  for i in 0..8 { Y[i] = T[i] * 2.0 }\n}"),
              {"W"});
  ASSERT_EQ(parts.packed.size(), 1u);
  EXPECT_EQ(parts.run.params.size(), 3u);
}

TEST(Prepack, LeavesAKernelWithoutConstantsAlone) {
  const ir::LoopFunc f = choose(
      blocks_of("te m(A: f32[9, 12]) {\n  B[y in 9, x in 12] = A[y, x] * 2.0\n  return B\n}"),
      small_machine());
  EXPECT_TRUE(prepack(f, {}).packed.empty());
}

}  // namespace
}  // namespace tilewright::tune
