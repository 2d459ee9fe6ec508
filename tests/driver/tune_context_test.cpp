// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_context.h"

#include <gtest/gtest.h>

namespace tilewright::driver {
namespace {

const Traces kTraces = {{"sure", "a"}, {"unsure", "b"}, {"slower", "c"}};

ContextResult measured() {
  ContextResult out;
  out.kernels = {
      {"sure", {0.9, 0.8, 0.95}}, {"unsure", {0.99, 0.9, 1.1}}, {"slower", {1.1, 1.0, 1.2}}};
  return out;
}

/// What is kept, and how many models were measured to find out.
struct Outcome {
  ContextResult result;
  std::vector<Traces> tried;
};
Outcome kept_when(const std::function<double(const Traces&)>& ratio) {
  Outcome out{measured(), {}};
  keep_what_helps(out.result, kTraces, [&](const Traces& kept) {
    out.tried.push_back(kept);
    const double median = ratio(kept);
    return tune::Estimate{median, median - 0.01, median + 0.01};
  });
  return out;
}

TEST(KeepWhatHelps, KeepsWhatIsFasterInTheModel) {
  const Outcome o = kept_when([](const Traces&) { return 0.97; });
  EXPECT_EQ(o.result.kept, (Traces{{"sure", "a"}, {"unsure", "b"}}));
  EXPECT_EQ(o.result.whole.median, 0.97);
  EXPECT_EQ(o.result.problem, "");
  EXPECT_EQ(o.tried.size(), 1u);
}

TEST(KeepWhatHelps, DropsWhatMayNotHelpBeforeItDropsAll) {
  const Outcome o = kept_when([](const Traces& kept) { return kept.size() > 1 ? 1.01 : 0.98; });
  EXPECT_EQ(o.result.kept, (Traces{{"sure", "a"}}));
  EXPECT_EQ(o.result.whole.median, 0.98);
  EXPECT_EQ(o.result.problem, "");
  EXPECT_EQ(o.tried.size(), 2u);
}

TEST(KeepWhatHelps, DropsAllWhenTheModelIsSlowerBeyondDoubt) {
  const Outcome o = kept_when([](const Traces&) { return 1.02; });
  EXPECT_TRUE(o.result.kept.empty());
  EXPECT_EQ(o.result.whole.median, 1);
  EXPECT_NE(o.result.problem, "");
  EXPECT_EQ(o.tried.size(), 2u);  // the same kernels are not tried again until it fits
}

TEST(KeepWhatHelps, KeepsWhatIsSureWhereTheWholeCannotTell) {
  const Outcome o = kept_when([](const Traces&) { return 1.005; });
  EXPECT_EQ(o.result.kept, (Traces{{"sure", "a"}}));
  EXPECT_EQ(o.result.whole.median, 1.005);
  EXPECT_EQ(o.result.problem, "");
  EXPECT_EQ(o.tried.size(), 2u);
}

TEST(KeepWhatHelps, MeasuresNoModelWhenNoKernelIsFaster) {
  ContextResult slow;
  slow.kernels = {{"slower", {1.1, 1.0, 1.2}}};
  keep_what_helps(slow, kTraces, [](const Traces&) -> tune::Estimate {
    ADD_FAILURE();
    return {};
  });
  EXPECT_TRUE(slow.kept.empty());
  EXPECT_EQ(slow.problem, "");
}

}  // namespace
}  // namespace tilewright::driver
