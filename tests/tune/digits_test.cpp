// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/digits.h"

#include "tune/taken_apart.h"

namespace tilewright::tune {
namespace {

TEST(Digits, TakeATileApart) {
  const char* text =
      "te t(A: f32[3, 5]) {\n  Y[i in 6, j in 20] = exp(A[i % 3, j % 5])\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 1u);
  EXPECT_FALSE(asks(in_digits(blocks_of(text))));
}

TEST(Digits, TakeBlocksApartThatOthersRead) {
  const char* text =
      "te d(A: f32[8, 3, 3]) {\n"
      "  B[c in 2, y in 6, x in 6] = A[(y % 2 * 2 + x % 2) * 2 + c, y / 2, x / 2]\n"
      "  Y[c in 2, y in 6, x in 6] = max(B[c, y, x], 0.0)\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 1u);
}

TEST(Digits, KnowSizesThatAreMultiples) {
  const char* text =
      "te t(A: f32[n]) where n in 1..50 {\n  Y[i in 4 * n] = A[i % n]\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text, {{1}, {2}, {19}}), 1u);
  EXPECT_FALSE(asks(in_digits(blocks_of(text))));
}

TEST(Digits, LeaveWhatReadsSums) {
  const char* text =
      "te t(A: f32[3, 9]) {\n"
      "  S[q in 3] = sum(k in 9) A[q, k]\n  Y[i in 12] = S[i / 4]\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 2u);
  EXPECT_TRUE(asks(in_digits(blocks_of(text))));
}

TEST(Digits, LeaveWhatDoesNotComeOutEven) {
  const char* text = "te t(A: f32[3]) {\n  Y[i in 10] = A[i % 3]\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 1u);
  EXPECT_TRUE(asks(in_digits(blocks_of(text))));
}

}  // namespace
}  // namespace tilewright::tune
