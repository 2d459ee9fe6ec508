// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/rows.h"

#include <gtest/gtest.h>

#include "support/str.h"
#include "te/parse.h"
#include "tune/chosen.h"

namespace tilewright::tune {
namespace {

/// Rows that are computed at a time; the machine's second cache has 32 KiB.
int64_t rows_together(int64_t rows, int64_t columns, const std::string& stages) {
  const ir::LoopFunc before = lower::to_blocks(te::parse_program(
      str("te kernel(A: f32[", rows, ", ", columns, "], x: f32[", columns, "]) {\n", stages,
          "  y[i in ", rows, "] = max(s[i], 0.0)\n  return y\n}")));
  EXPECT_EQ(wrong_choice(before, small_machine()), "");
  const std::string text = ir::print(choose(before, small_machine()));
  const size_t at = text.find(" for i_1 in 0..");
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + 15));
}

/// With a vector.
int64_t rows_of_product(int64_t rows, int64_t columns) {
  return rows_together(rows, columns,
                       str("  s[i in ", rows, "] = sum(k in ", columns, ") A[i, k] * x[k]\n"));
}

TEST(Rows, ThoseThatComeFromMemoryAreOneStream) {
  EXPECT_EQ(rows_of_product(16, 64), 4) << "4 KiB";
  EXPECT_EQ(rows_of_product(80, 128), 1) << "40 KiB";
}

TEST(Rows, ThoseThatAreReadAgainRunSideBySide) {
  EXPECT_EQ(rows_together(80, 128,
                          "  m[i in 80] = max(k in 128) A[i, k]\n"
                          "  s[i in 80] = sum(k in 128) (A[i, k] - m[i]) * x[k]\n"),
            4);
}

}  // namespace
}  // namespace tilewright::tune
