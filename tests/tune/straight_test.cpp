// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/str.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

/// The loops of one tile of a product f32[rows, 12] x f32[12, 16], with four lanes.
std::string tile_of(int64_t rows) {
  const ir::LoopFunc before = lower::to_blocks(
      te::parse_program(str("te product(A: f32[", rows, ", 12], W: f32[12, 16]) {\n  C[i in ", rows,
                            ", j in 16] = sum(k in 12) A[i, k] * W[k, j]\n  return C\n}")));
  const ir::LoopFunc after = choose(before, small_machine(), {"W"});
  EXPECT_EQ(wrong_schedule(before, after, small_machine()), "");
  const std::string text = ir::print(after);
  const size_t first = text.find("for k_0"), last = text.find("block C(", first);
  return text.substr(first, last - first);
}

// Twelve sums, three values of one factor and one of the other are all the registers there are.
TEST(Straight, TheFactorWithFewerRegistersStaysInThem) {
  const std::string few = tile_of(3), many = tile_of(4);
  EXPECT_LT(few.find("for j_1_0"), few.find("for i_1")) << few;
  EXPECT_LT(many.find("for i_1"), many.find("for j_1_0")) << many;
  EXPECT_NE(few.find("for i_1"), std::string::npos) << few;
  EXPECT_NE(many.find("for j_1_0"), std::string::npos) << many;
}

/// The default schedule of a product, as text.
std::string product(int64_t rows, int64_t columns, const std::vector<std::string>& constants,
                    const ir::TargetSpec& spec = small_machine()) {
  const ir::LoopFunc before = lower::to_blocks(te::parse_program(
      str("te product(A: f32[", rows, ", 48], W: f32[48, ", columns, "]) {\n  C[i in ", rows,
          ", j in ", columns, "] = sum(k in 48) A[i, k] * W[k, j]\n  return C\n}")));
  const ir::LoopFunc after = choose(before, spec, constants);
  EXPECT_EQ(wrong_schedule(before, after, spec), "");
  return ir::print(after);
}

TEST(Straight, RowsAskForTheNextPanelOfWeights) {
  const auto asks = [](const std::string& text) {
    return text.find("prefetch 2 W_global") != std::string::npos;
  };
  EXPECT_TRUE(asks(product(48, 48, {"W"}))) << product(48, 48, {"W"});
  EXPECT_FALSE(asks(product(48, 48, {}))) << "what was written just now is near";
  EXPECT_FALSE(asks(product(48, 16, {"W"}))) << "the first cache keeps them";
  EXPECT_FALSE(asks(product(4, 48, {"W"}))) << "one row of tiles has no time for it";
  ir::TargetSpec far = small_machine();
  far.l2_bytes = 4 << 10;
  EXPECT_TRUE(asks(product(4, 48, {"W"}, far))) << "it would wait for what no cache keeps";
}

}  // namespace
}  // namespace tilewright::tune
