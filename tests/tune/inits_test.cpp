// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/inits.h"

#include "tune/taken_apart.h"

namespace tilewright::tune {
namespace {

const std::vector<std::vector<int64_t>> kSizes = {{0}, {1}, {3}, {70}};

TEST(Inits, MoveIntoSumsThatMayBeEmpty) {
  const char* text =
      "te t(A: f32[5, n]) where n in 0..100 {\n"
      "  Y[i in 5] = sum(k in n) A[i, k]\n  return Y\n}";
  EXPECT_EQ(stages_of(blocks_of(text)).size(), 2u);
  EXPECT_EQ(stages_of_right(text, kSizes), 1u);
}

TEST(Inits, NeedNoGuardWhereThereIsATerm) {
  const char* text =
      "te t(A: f32[5, n]) where n in 1..100 {\n"
      "  Y[i in 5] = max(k in n) A[i, k]\n"
      "  Z[i in 5, j in n] = exp(A[i, j] - Y[i])\n  return Z\n}";
  EXPECT_EQ(stages_of_right(text, {{1}, {3}, {70}}), 2u);
  EXPECT_FALSE(asks(with_inits_inside(blocks_of(text))));
}

TEST(Inits, GuardEachOfSeveralSums) {
  const char* text =
      "te t(A: f32[n, 7, m]) where n in 0..100, m in 0..100 {\n"
      "  Y[i in 7] = max(k in n, l in m) A[k, i, l]\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text, {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {20, 9}}), 1u);
}

TEST(Inits, MoveIntoProducts) {
  const char* text =
      "te t(A: f32[5, n], B: f32[n, 6]) where n in 0..100 {\n"
      "  Y[i in 5, j in 6] = sum(k in n) A[i, k] * B[k, j]\n  return Y\n}";
  EXPECT_EQ(stages_of_right(text, kSizes), 1u);
}

}  // namespace
}  // namespace tilewright::tune
