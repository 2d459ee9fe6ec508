// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "tune/measure/runner.h"

namespace tilewright::tune {
namespace {

TEST(Estimate, TakesTheRanksThatLeaveFivePercent) {
  const auto ranks = [](int n) {
    std::vector<double> samples;
    for (int i = n; i >= 1; --i) samples.push_back(i);
    const Estimate e = estimate(samples);
    return std::pair(e.low, e.high);
  };
  // As tables of the sign test have them.
  EXPECT_EQ(ranks(1), std::pair(1.0, 1.0));
  EXPECT_EQ(ranks(5), std::pair(1.0, 5.0));
  EXPECT_EQ(ranks(6), std::pair(1.0, 6.0));
  EXPECT_EQ(ranks(8), std::pair(1.0, 8.0));
  EXPECT_EQ(ranks(9), std::pair(2.0, 8.0));
  EXPECT_EQ(ranks(25), std::pair(8.0, 18.0));
}

TEST(Estimate, HoldsTheMedianAsOftenAsItSays) {
  std::mt19937 random(7);
  std::exponential_distribution<double> skewed(1);
  int held = 0;
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    std::vector<double> samples(15);
    for (double& s : samples) s = skewed(random);
    const Estimate e = estimate(samples);
    held += e.low <= std::log(2.0) && std::log(2.0) <= e.high;
  }
  EXPECT_GE(held, kRounds * 94 / 100);
}

TEST(Measurement, TiesAreNotWins) {
  const auto with = [](double low, double high) {
    Measurement m;
    m.verdict = Verdict::Ok;
    m.ratio = {(low + high) / 2, low, high};
    return m;
  };
  EXPECT_TRUE(with(0.8, 0.9).beats_default());
  EXPECT_FALSE(with(0.8, 1.0).beats_default());
  EXPECT_TRUE(with(0.8, 0.9).beats(with(0.95, 1.0)));
  EXPECT_FALSE(with(0.8, 0.96).beats(with(0.95, 1.0)));
  EXPECT_TRUE(with(0.8, 0.9).beats(Measurement{}));
  EXPECT_FALSE(Measurement{}.beats(with(2, 3)));
}

}  // namespace
}  // namespace tilewright::tune
