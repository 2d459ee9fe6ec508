// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/estimate.h"

#include <gtest/gtest.h>

#include "target/host.h"
#include "te/parse.h"
#include "tune/choose/in_blocks.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

ir::LoopFunc blocks_of(const char* text) { return lower::to_blocks(te::parse_program(text)); }

TEST(Estimate, ResultsThatAreTransposedCostALittleMore) {
  const ir::TargetSpec spec = target::parse_target("x86-64-v4");
  const ir::LoopFunc rows = blocks_of(
      "te p(X: f32[1, 32, 58, 58]) {\n"
      "  M[n in 1, c in 32, y in 28, x in 28] = "
      "max(i in 3, j in 3) X[n, c, y * 2 + i, x * 2 + j]\n  return M\n}");
  const double both = estimated_cycles(*in_blocks(rows, {{0, 1, 16}, {1, 1, 16}}), spec, {}),
               turned = estimated_cycles(*in_blocks(rows, {{0, 1, 16}}), spec, {}),
               neither = estimated_cycles(rows, spec, {});
  EXPECT_LT(both, turned);
  EXPECT_LT(turned, both * 1.5);  // once for nine terms
  EXPECT_LT(turned, neither);     // whose every second element is read
}

TEST(Estimate, LanesOfATermAreGathered) {
  // One result for 24 channels: pixels are the lanes, and eight elements apart in blocks.
  const ir::TargetSpec spec = target::parse_target("x86-64-v4");
  const ir::LoopFunc rows = blocks_of(
      "te s(X: f32[24, 32, 32], W: f32[24]) {\n"
      "  Y[y in 32, x in 32] = sum(c in 24) X[c, y, x] * W[c]\n  return Y\n}");
  const double together = estimated_cycles(rows, spec, {"W"}),
               apart = estimated_cycles(*in_blocks(rows, {{0, 0, 8}}), spec, {"W"});
  EXPECT_GT(apart, 4 * together);
}

TEST(Estimate, HalfVectorsCostWhatTheMachineSays) {
  ir::TargetSpec spec = target::parse_target("x86-64-v4");
  const ir::LoopFunc rows = blocks_of(
      "te c(X: f32[1, 48, 32, 32], W: f32[24, 48], b: f32[24]) {\n"
      "  S[n in 1, m in 24, y in 32, x in 32] = sum(c in 48) X[n, c, y, x] * W[m, c]\n"
      "  Y[n in 1, m in 24, y in 32, x in 32] = max(S[n, m, y, x] + b[m], 0.0)\n"
      "  return Y\n}");
  const ir::LoopFunc halves = *in_blocks(rows, {{0, 1, 16}, {3, 1, 8}});
  const double whole = estimated_cycles(rows, spec, {"W", "b"}),
               as_wide = estimated_cycles(halves, spec, {"W", "b"});
  spec.rates.half = 0.5;
  EXPECT_EQ(estimated_cycles(rows, spec, {"W", "b"}), whole);
  EXPECT_DOUBLE_EQ(estimated_cycles(halves, spec, {"W", "b"}), as_wide / 2);
}

TEST(Estimate, WeightsThatNoCacheKeepsCountBesideTheProducts) {
  ir::TargetSpec spec = target::parse_target("x86-64-v3");
  const ir::LoopFunc product = blocks_of(
      "te p(X: f32[64, 512], W: f32[512, 512]) {\n"
      "  Y[y in 64, x in 512] = sum(k in 512) X[y, k] * W[k, x]\n  return Y\n}");
  const double bytes = 512 * 512 * 4;
  spec.l2_bytes = 512 << 10;
  spec.rates.bytes[2] = 16;
  const double fast = estimated_cycles(product, spec, {"W"});
  EXPECT_GT(fast, 2 * bytes / 16);  // most of it are products
  spec.rates.bytes[2] = 8;
  EXPECT_DOUBLE_EQ(estimated_cycles(product, spec, {"W"}), fast + bytes / 16);
  spec.l2_bytes = 2 << 20;
  EXPECT_DOUBLE_EQ(estimated_cycles(product, spec, {"W"}), fast - bytes / 16);
}

}  // namespace
}  // namespace tilewright::tune
