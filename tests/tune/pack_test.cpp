// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/pack.h"

#include <gtest/gtest.h>

#include "support/str.h"
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

/// Weights of four bits with a scale for each 16 of a column's.
std::string unpacking(int64_t rows, const std::vector<std::string>& constants) {
  const ir::LoopFunc before = lower::to_blocks(te::parse_program(
      str("te product(X: f32[", rows, ", 48], W: u8[40, 3, 8], S: f32[40, 3]) {\n  C[i in ", rows,
          ", n in 40] = sum(b in 3, k in 8, p in 2) X[i, b * 16 + k * 2 + p] * "
          "(f32(i32(W[n, b, k]) >> i32(p * 4) & 15:i32) * S[n, b])\n  return C\n}")));
  const ir::LoopFunc after = choose(before, small_machine(), constants);
  EXPECT_EQ(wrong_schedule(before, after, small_machine()), "");
  return ir::print(after);
}

TEST(Pack, WeightsAndTheirScalesLieInPanelsOfAsManyColumns) {
  for (const int64_t rows : {1, 7}) {
    const std::string text = unpacking(rows, {"W", "S"});
    const size_t w = text.find("alloc W_global: u8["), s = text.find("alloc S_global: f32[");
    ASSERT_NE(w, std::string::npos) << text;
    ASSERT_NE(s, std::string::npos) << text;
    const auto shape = [&](size_t at) {
      const size_t open = text.find('[', at);
      return text.substr(open + 1, text.find(']', open) - open - 1);
    };
    const std::string of_w = shape(w), of_s = shape(s);
    EXPECT_EQ(of_w.substr(0, of_w.find(',')), of_s.substr(0, of_s.find(',')));
    EXPECT_EQ(of_w.substr(of_w.rfind(',')), of_s.substr(of_s.rfind(',')));
  }
}

// Single weights for rows, with lanes along the others, would be unpacked one by one.
TEST(Pack, WeightsAreUnpackedInVectors) {
  const ir::TargetSpec spec{.name = "v3", .vector_bits = 256, .vector_registers = 16};
  const ir::LoopFunc before = lower::to_blocks(te::parse_program(
      "te product(X: f32[128, 1024], W: u8[4096, 32, 16], S: f32[4096, 32]) {\n"
      "  C[i in 128, n in 4096] = sum(b in 32, k in 16, p in 2) X[i, b * 32 + k * 2 + p] * "
      "(f32(i32(W[n, b, k]) >> i32(p * 4) & 15:i32) * S[n, b])\n  return C\n}"));
  const std::string text = ir::print(choose(before, spec, {"W", "S"}));
  EXPECT_NE(text.find("vectorized for n_1_1"), std::string::npos) << text;
}

TEST(Pack, OneRowUnpacksEachVectorOfBytesOnce) {
  const std::string text = unpacking(1, {"W", "S"});
  const size_t parts = text.find("unrolled for p in 0..2");
  ASSERT_NE(parts, std::string::npos) << text;
  EXPECT_LT(text.rfind("unrolled for n_1_0", parts), parts) << text;
}

}  // namespace
}  // namespace tilewright::tune
