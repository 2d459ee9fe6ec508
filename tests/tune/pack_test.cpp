// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/pack.h"

#include <gtest/gtest.h>

#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

/// A convolution of rows: its weights are what tiles read for their rows.
const char* kConv = R"(te conv(X: f32[12, 4, 18], W: f32[12, 3, 3]) {
  C[m in 3, y in 4, x in 16] = sum(c in 12, r in 3) X[c, y, x + r] * W[c, m, r]
  return C
})";

std::string scheduled(const std::vector<std::string>& constants) {
  const ir::LoopFunc before = lower::to_blocks(te::parse_program(kConv));
  const ir::LoopFunc after = choose(before, small_machine(), constants);
  EXPECT_EQ(wrong_schedule(before, after, small_machine()), "");
  return ir::print(after);
}

TEST(Pack, ConstantRowsLieInTheOrderInWhichATileReadsThem) {
  const std::string text = scheduled({"W"});
  EXPECT_NE(text.find("alloc W_global: f32[1, 12, 3, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("* W_global[vm / 3, vc, vr, vm % 3]"), std::string::npos) << text;
}

TEST(Pack, OtherRowsStayWhereTheyAre) {
  EXPECT_EQ(scheduled({}).find("W_global"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::tune
