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

/// Turns of two, one `ratio` times as long, of which every fourth is interrupted.
std::vector<Turn> disturbed(std::mt19937& random, size_t count, double ratio) {
  std::normal_distribution<double> noise(0, 0.005);
  std::uniform_real_distribution<double> longer(0.1, 3), luck(0, 1);
  const auto time = [&](double quiet) {
    return quiet * (1 + std::abs(noise(random)) + (luck(random) < 0.25 ? longer(random) : 0));
  };
  std::vector<Turn> turns;
  for (size_t i = 0; i < count; ++i) turns.push_back({time(ratio), time(1)});
  return turns;
}

TEST(QuietRatio, SeesThroughInterruptions) {
  std::mt19937 random(7);
  int held = 0, narrow = 0;
  constexpr int kRounds = 400;
  for (int i = 0; i < kRounds; ++i) {
    const Estimate e = quiet_ratio(disturbed(random, 25, 0.97));
    EXPECT_NEAR(e.median, 0.97, 0.02);
    held += e.low <= 0.97 && 0.97 <= e.high;
    narrow += e.high < 1;
  }
  EXPECT_GE(held, kRounds * 90 / 100);
  EXPECT_GE(narrow, kRounds * 95 / 100);
}

TEST(QuietRatio, SeldomCallsEqualTimesDifferent) {
  std::mt19937 random(7);
  for (const size_t count : {3, 6, 8, 12, 25, 100}) {
    int wins = 0;
    constexpr int kRounds = 1000;
    for (int i = 0; i < kRounds; ++i) wins += quiet_ratio(disturbed(random, count, 1)).high < 1;
    EXPECT_LE(wins, kRounds * (count < 6 ? 13 : 5) / 100) << count;  // of three: all smaller
  }
}

TEST(QuietRatio, OfFewTurnsHoldsAllOfThem) {
  EXPECT_EQ(quiet_ratio({}).median, 1);
  const Estimate one = quiet_ratio({{2, 4}});
  EXPECT_EQ(one.low, 0.5);
  EXPECT_EQ(one.high, 0.5);
  const Estimate two = quiet_ratio({{2, 4}, {3, 4}});
  EXPECT_EQ(two.median, 0.5);
  EXPECT_EQ(two.low, 0.5);
  EXPECT_EQ(two.high, 0.75);
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
