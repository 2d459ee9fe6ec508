// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/in_turn.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace tilewright::tune {
namespace {

/// A kernel that takes so long, and how often it was called in a row.
struct Fake {
  double seconds;
  double noise = 0;  // of the time, at most
  std::mt19937 random{7};
  std::set<int> rows = {};
  double operator()(int calls) {
    rows.insert(calls);
    return seconds * (1 + noise * std::uniform_real_distribution<double>()(random));
  }
};

TEST(InTurn, EndsWithOneThatIsSlowInEachOfTheFirstPairs) {
  Fake slow{.seconds = 1.1e-3}, reference{.seconds = 1e-3};
  const Measurement m = in_turn(slow, reference, 1, 25);
  EXPECT_EQ(m.seconds.size(), 3u);
  EXPECT_NEAR(m.ratio.median, 1.1, 1e-9);
  EXPECT_FALSE(m.beats_default());
}

TEST(InTurn, CallsAHopelessOneNoMoreOftenThanItMust) {
  Fake hopeless{.seconds = 9e-3}, reference{.seconds = 1e-6};
  const Measurement m = in_turn(hopeless, reference, 1, 25);
  EXPECT_EQ(m.seconds.size(), 2u);
  EXPECT_EQ(hopeless.rows, std::set<int>{1});
}

TEST(InTurn, CallsBothAsOftenInARow) {
  Fake candidate{.seconds = 10e-6}, reference{.seconds = 20e-6};
  const Measurement m = in_turn(candidate, reference, 1, 25);
  EXPECT_EQ(m.seconds.size(), 25u);
  EXPECT_EQ(candidate.rows, (std::set<int>{1, 5}));
  EXPECT_EQ(reference.rows, candidate.rows);
  EXPECT_TRUE(m.beats_default());
}

TEST(InTurn, GoesOnWithOneThatMayBeFaster) {
  Fake candidate{.seconds = 0.995e-3}, reference{.seconds = 1e-3};
  const Measurement m = in_turn(candidate, reference, 1, 25);
  EXPECT_EQ(m.seconds.size(), 100u) << "less than two places in memory make is not sure";
  EXPECT_FALSE(m.beats_default());
  Fake same{.seconds = 1e-3};
  EXPECT_EQ(in_turn(same, reference, 1, 25).seconds.size(), 25u);
}

TEST(InTurn, KeepsToItsTime) {
  Fake candidate{.seconds = 1e-3, .noise = 0.1}, reference{.seconds = 1e-3, .noise = 0.1};
  EXPECT_EQ(in_turn(candidate, reference, 0, 25).seconds.size(), 6u) << "fewer say nothing";
}

}  // namespace
}  // namespace tilewright::tune
