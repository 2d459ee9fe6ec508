// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/pieces.h"

#include "tune/taken_apart.h"

namespace tilewright::tune {
namespace {

TEST(Pieces, GiveEachInputOfAConcatAStage) {
  const char* text =
      "te c(A: f32[5, 3], B: f32[5, 7], C: f32[5, 1]) {\n"
      "  Y[i in 5, j in 11] = guard(j < 3, A[i, j], guard(j < 10, B[i, j - 3], C[i, j - 10]))\n"
      "  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 3u);
  EXPECT_FALSE(asks(in_pieces(blocks_of(text))));
}

TEST(Pieces, TakeInWhatReadsThem) {
  const char* text =
      "te c(A: f32[4, 6], B: f32[5, 6]) {\n"
      "  Y[i in 9, j in 6] = guard(i < 4, A[i, j], B[i - 4, j])\n"
      "  Z[i in 6, j in 9] = exp(Y[j, i]) + 1.0\n  return Z\n}";
  EXPECT_EQ(stages_of_right(text), 2u);
}

TEST(Pieces, BeginRightWhereConditionsChange) {
  const char* text =
      "te c(A: f32[9], B: f32[9]) {\n"
      "  Y[i in 9] = select(i <= 3, A[i], select(6 < i || i < 2, A[8 - i], B[i]))\n"
      "  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 4u) << "at 2, 4 and 7";
}

TEST(Pieces, LeaveWhatTheFunctionReadsItself) {
  const char* text =
      "te c(A: f32[4], B: f32[5]) {\n"
      "  Y[i in 9] = guard(i < 4, A[i], B[i - 4])\n"
      "  S[] = sum(k in 9) Y[k]\n  return Y, S\n}";
  EXPECT_EQ(stages_of_right(text), 2u);
}

TEST(Pieces, LeaveTheLastStepOfSums) {
  const char* text =
      "te c(A: f32[9, 5], B: f32[5, 7]) {\n"
      "  S[i in 9, j in 7] = sum(k in 5) A[i, k] * B[k, j]\n"
      "  Y[i in 9, j in 7] = select(j < 4, S[i, j], 0.0)\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 2u);
}

TEST(Pieces, CutAllDimensions) {
  const char* text =
      "te p(A: f32[6, 20]) {\n"
      "  Y[i in 10, j in 26] = A[select(i - 2 < 0, 2 - i, select(i - 2 < 6, i - 2, 12 - i)),\n"
      "                          min(max(j - 3, 0), 19)]\n"
      "  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 6u);
  const char* constant =
      "te p(A: f32[6, 20]) {\n"
      "  Y[i in 10, j in 26] = guard(0 <= i - 2 && i - 2 < 6 && 0 <= j - 3 && j - 3 < 20,\n"
      "                              A[i - 2, j - 3], 0.5)\n"
      "  return Y\n}";
  EXPECT_EQ(stages_of_right(constant), 9u);
  EXPECT_FALSE(asks(in_pieces(blocks_of(constant))));
}

TEST(Pieces, CutAtSizesThatAreNotKnown) {
  const char* text =
      "te c(A: f32[n, 3], B: f32[m, 3], C: f32[n, 3]) where n in 0..50, m in 0..50 {\n"
      "  Y[i in 2 * n + m, j in 3] = guard(i < n, A[i, j], guard(i < n + m, B[i - n, j],\n"
      "                                    C[i - n - m, j]))\n"
      "  return Y\n}";
  EXPECT_EQ(stages_of_right(text, {{0, 0}, {1, 0}, {0, 4}, {9, 17}}), 3u);
}

TEST(Pieces, EndWhereTheResultDoes) {
  const char* text =
      "te c(A: f32[n]) where n in 0..50, m in 0..90, p in 0..90 {\n"
      "  Y[i in m] = select(i < p - 3, 1.0, 2.0)\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text, {{1, 0, 0}, {1, 90, 0}, {1, 9, 90}, {1, 50, 20}}), 2u);
}

TEST(Pieces, StayTogetherWhereTheirOrderIsNotKnown) {
  const char* text =
      "te c(A: f32[64]) where n in 0..64, m in 0..64 {\n"
      "  Y[i in 64] = select(i < n, A[i], 0.0) + select(i < m, A[63 - i], 0.0)\n"
      "  return Y\n}";
  EXPECT_EQ(stages_of_right(text, {{0, 64}, {40, 3}}), 1u);
}

TEST(Pieces, StayTogetherWhereTwoIteratorsDecide) {
  const char* text =
      "te t(A: f32[9, 9]) {\n  Y[i in 9, j in 9] = select(j <= i, A[i, j], 0.0)\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text), 1u);
}

}  // namespace
}  // namespace tilewright::tune
