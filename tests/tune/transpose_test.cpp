// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/transpose.h"

#include <gtest/gtest.h>

#include "target/host.h"
#include "te/parse.h"
#include "tune/choose/strides.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

std::optional<Transposition> found(const char* text) {
  const ir::LoopFunc func = lower::to_blocks(te::parse_program(text));
  const Sizes sizes(func);
  const Stage stage = *find_stage(func, "B");
  return transposition_of(stage, best_lane_iter(stage, sizes), sizes);
}

TEST(Transposition, IsOfOneArrayReadAcrossTheLanes) {
  const auto turned = found(
      "te t(A: f32[37, 29], C: f32[29, 37]) {\n"
      "  B[i in 29, j in 37] = A[j, i] + C[i, j]\n  return B\n}");
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->lane, 1U);
  EXPECT_EQ(turned->column, 0U);
  EXPECT_EQ(turned->buffers, std::vector<std::string>{"A"});
}

TEST(Transposition, IsNotOfShortRowsNorOfWhatMayNotBeRead) {
  EXPECT_FALSE(found("te t(A: f32[37, 5]) {\n  B[i in 5, j in 37] = A[j, i]\n  return B\n}"));
  EXPECT_FALSE(
      found("te t(A: f32[30, 29]) {\n"
            "  B[i in 29, j in 37] = guard(j < 30, A[j, i], 0.0)\n  return B\n}"));
  EXPECT_FALSE(
      found("te t(A: f32[24, 24]) {\n  B[i in 24, j in 24] = A[i, j] + A[j, i]\n  return B\n}"));
}

}  // namespace
}  // namespace tilewright::tune
