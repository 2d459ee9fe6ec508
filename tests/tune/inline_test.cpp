// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/inline.h"

#include "tune/taken_apart.h"

namespace tilewright::tune {
namespace {

/// The names of the stages that are left.
std::vector<std::string> kept(const char* text) {
  schedule::Schedule s(canonical(blocks_of(text)));
  Choices choices;
  inline_stages(s, {}, choices);
  std::vector<std::string> names;
  for (const Stage& stage : stages_of(s.func())) names.push_back(stage.name());
  return names;
}

TEST(Inline, RepeatsWhatIsCheap) {
  const char* text =
      "te t(A: f32[4, 9], B: f32[4, 9]) {\n"
      "  X[i in 4, k in 9] = A[i, k] * B[i, k] + 1.0\n"
      "  M[i in 4] = max(k in 9) X[i, k]\n"
      "  Y[i in 4] = sum(k in 9) select(X[i, k] < M[i], 1.0, 0.0)\n  return Y\n}";
  EXPECT_EQ(kept(text), (std::vector<std::string>{"M", "Y"}));
}

TEST(Inline, ComputesOnceWhatIsLookedForAmongItself) {
  const char* text =
      "te t(A: f32[4, 9], B: f32[4, 9]) {\n"
      "  X[i in 4, k in 9] = A[i, k] * B[i, k] + 1.0\n"
      "  M[i in 4] = max(k in 9) X[i, k]\n"
      "  Y[i in 4] = min(k in 9) select(X[i, k] == M[i], k, 9)\n  return Y\n}";
  EXPECT_EQ(kept(text), (std::vector<std::string>{"X", "M", "Y"}));
  EXPECT_EQ(stages_of_right(text), 3u);
}

}  // namespace
}  // namespace tilewright::tune
