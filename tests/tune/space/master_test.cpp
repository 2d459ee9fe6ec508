// SPDX-License-Identifier: Apache-2.0
#include "tune/space/master.h"

#include <gtest/gtest.h>
#include <set>
#include <tuple>

#include "ir/parse.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/space/operators.h"
#include "tune/space/wrong_point.h"

namespace tilewright::tune {
namespace {

class MasterTemplate : public testing::TestWithParam<Operator> {};

TEST_P(MasterTemplate, RandomPointsAreLegalAndRight) {
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(GetParam().text));
  const std::vector<std::string> constants = {"W", "wb"};
  const std::vector<std::pair<ir::TargetSpec, std::vector<std::string>>> cases = {
      {small_machine(), {}}, {small_machine(), constants}, {wide_machine(), constants}};
  for (const auto& [spec, known] : cases) {
    const Space space = cpu_space(blocks, spec, known);
    ir::Random random(7);
    for (int i = 0; i < 6; ++i) {
      const auto point = space.random(random);
      ASSERT_TRUE(point);
      ASSERT_EQ(wrong_point(blocks, space, *point, spec), "") << space.print();
      const Point near = space.neighbour(*point, random);
      ASSERT_TRUE(space.legal(near));
      ASSERT_NO_THROW(space.apply(near)) << space.encode(near);
      EXPECT_EQ(space.decode(space.encode(near)), near);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Invented, MasterTemplate, testing::ValuesIn(kInvented),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Common, MasterTemplate, testing::ValuesIn(kCommon),
                         [](const auto& info) { return info.param.name; });

TEST(MasterTemplate, SpacesOfProductsAndConvolutionsAreLarge) {
  const char* gemm =
      "te k(A: f32[128, 768], W: f32[768, 768], wb: f32[768]) {\n"
      "  C[y in 128, x in 768] = sum(k in 768) A[y, k] * W[k, x]\n"
      "  D[y in 128, x in 768] = C[y, x] + wb[x]\n  return D\n}";
  const char* long_sums =
      "te k(A: f32[128, 3072], W: f32[3072, 768], wb: f32[768]) {\n"
      "  C[y in 128, x in 768] = sum(k in 3072) A[y, k] * W[k, x]\n"
      "  D[y in 128, x in 768] = C[y, x] + wb[x]\n  return D\n}";
  const char* conv =
      "te k(X: f32[4, 58, 58, 16], W: f32[4, 16, 4, 16, 3, 3]) {\n"
      "  C[m in 4, y in 56, x in 56, e in 16] = sum(c in 4, r in 3, s in 3, d in 16) "
      "X[c, y + r, x + s, d] * W[m, e, c, d, r, s]\n  return C\n}";
  ir::TargetSpec spec = wide_machine();
  spec.l2_bytes = 1 << 20;
  for (const char* text : {gemm, long_sums, conv}) {
    const Space space = cpu_space(lower::to_blocks(te::parse_program(text)), spec, {"W", "wb"});
    EXPECT_GE(space.size().points, 1e6) << space.print();
    EXPECT_NE(space.print().find("vector registers"), std::string::npos);
  }
}

/// Bytes by bytes into 32 bits, and bf16 by bf16 into f32.
const char* const kBytes =
    "te k(A: u8[24, 64], W: i8[64, 48]) {\n"
    "  C[y in 24, x in 48] = sum(k in 64) i32(A[y, k]) * i32(W[k, x])\n  return C\n}";
const char* const kBf16 =
    "te k(A: bf16[24, 64], W: bf16[64, 48]) {\n"
    "  C[y in 24, x in 48] = sum(k in 64) f32(A[y, k]) * f32(W[k, x])\n  return C\n}";

TEST(MasterTemplate, UsesInstructionsThatMatch) {
  for (const auto& [text, machine, matches] : {std::tuple(kBytes, "amx", true),
                                               {kBytes, "znver4", true},
                                               {kBytes, "x86-64-v3", true},
                                               {kBf16, "amx", true},
                                               {kBf16, "znver4", true},
                                               {kBf16, "x86-64-v3", false}}) {
    SCOPED_TRACE(testing::Message() << text << machine);
    const ir::TargetSpec spec = target::parse_target(machine);
    const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(text));
    const Space space = cpu_space(blocks, spec, {"W"});
    EXPECT_EQ(space.print().find("instruction") != std::string::npos, matches) << space.print();
    ir::Random random(7);
    std::set<std::string> used;
    for (int i = 0; matches && i < 24; ++i) {
      const Point point = space.random(random).value();
      const std::string values = space.encode(point);
      const std::string trace = schedule::print(space.apply(point).trace());
      if (trace.find("tensorize") != std::string::npos) {
        EXPECT_NE(values.find("C.form=instruction"), std::string::npos) << values;
        used.insert(trace);
      }
      ASSERT_EQ(wrong_point(blocks, space, point, spec), "");
    }
    if (matches) {
      EXPECT_GE(used.size(), 3u) << space.print();  // in several ways
    }
  }
}

TEST(MasterTemplate, AttentionHasKnobs) {
  const Operator& attention =
      *std::ranges::find(kCommon, std::string("attention"), &Operator::name);
  const Space space =
      cpu_space(lower::to_blocks(te::parse_program(attention.text)), small_machine());
  const std::string first = space.encode(*space.first());
  for (const char* knob : {"O.rows=", "O.tile_of_scores=", "O.tile_of_results=", "O.unroll_both="})
    EXPECT_NE(first.find(knob), std::string::npos) << space.print();
  // The knobs decide.
  std::set<std::string> traces;
  ir::Random random(1);
  for (int i = 0; i < 10; ++i)
    traces.insert(schedule::print(space.apply(*space.random(random)).trace()));
  EXPECT_GT(traces.size(), 3u);
}

/// The first point of the space with other values of some knobs.
Point first_with(const Space& space,
                 const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text = space.encode(*space.first());
  for (const auto& [knob, value] : values) {
    const size_t at = text.find(knob + "=") + knob.size() + 1;
    text.replace(at, text.find(' ', at) - at, value);
  }
  return space.decode(text);
}

TEST(MasterTemplate, BandsOfBlocksRunInsideOfTheOtherLoops) {
  const char* gemm =
      "te k(A: f32[16, 12], W: f32[12, 64]) {\n"
      "  C[y in 16, x in 64] = sum(k in 12) A[y, k] * W[k, x]\n  return C\n}";
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(gemm));
  const Space space = cpu_space(blocks, small_machine(), {"W"});
  const auto with = [&](const char* band, const char* y) {
    return first_with(space, {{"C.band", band}, {"C.vy", y}});
  };
  const Point four = with("4", "1x2");  // eight blocks along y
  EXPECT_EQ(wrong_point(blocks, space, four, small_machine()), "");
  EXPECT_NE(schedule::print(space.apply(four).trace()).find("[?, 4]"), std::string::npos);
  EXPECT_THROW(with("8", "1x2"), Error);   // a single band
  EXPECT_THROW(with("4", "1x3"), Error);   // six blocks
  EXPECT_THROW(with("2", "16x1"), Error);  // no loop to cut
}

TEST(MasterTemplate, ChannelsInBlocksAreColumnsOfATile) {
  const char* conv =
      "te k(X: f32[2, 8, 10, 4], W: f32[8, 4, 2, 4, 3]) {\n"
      "  C[m in 8, y in 8, x in 8, e in 4] = sum(c in 2, d in 4, r in 3) "
      "X[c, y, x + r, d] * W[m, e, c, d, r]\n  return C\n}";
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(conv));
  const ir::TargetSpec spec = small_machine();
  const Space space = cpu_space(blocks, spec, {"W"});
  const auto with = [&](const char* m, const char* x) {
    return first_with(space, {{"C.vm", m}, {"C.vx", x}});
  };
  // A vector of each of m, one number of X, and all sums.
  EXPECT_EQ(wrong_point(blocks, space, with("1x4", "1x2"), spec), "");
  EXPECT_EQ(wrong_point(blocks, space, with("1x2", "1x6"), spec), "");
  EXPECT_THROW(with("1x2", "1x7"), Error);  // 14 sums, 2 vectors and a number
}

TEST(MasterTemplate, TracesApplyToTheCanonicalFunction) {
  const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(kCommon[0].text));
  const Space space = cpu_space(blocks, small_machine(), {"W", "wb"});
  ir::Random random(3);
  const schedule::Schedule s = space.apply(*space.random(random));
  const schedule::Trace trace = schedule::parse_trace(schedule::print(s.trace()));
  EXPECT_EQ(ir::print(schedule::apply(trace, canonical(blocks))), ir::print(s.func()));
}

TEST(MasterTemplate, KnowsOnePointOfWhatHasNoStages) {
  const ir::LoopFunc loops =
      ir::parse_function("loops k(A: inout f32[9]) {\n  for i in 0..9 { A[i] = A[i] * 2.0 }\n}");
  const Space space = cpu_space(loops, small_machine());
  EXPECT_EQ(space.size().points, 1);
  EXPECT_EQ(ir::print(space.apply(*space.first()).func()), ir::print(canonical(loops)));
}

}  // namespace
}  // namespace tilewright::tune
