// SPDX-License-Identifier: Apache-2.0
#include "tune/model/cost_model.h"

#include <cmath>
#include <gtest/gtest.h>

#include "ir/interpret/random.h"

namespace tilewright::tune {
namespace {

/// Programs whose time depends on features that the analytic guess knows nothing of.
std::vector<Sample> made_up(uint64_t seed, size_t count, uint64_t task) {
  ir::Random random(seed);
  std::vector<Sample> out(count);
  for (Sample& s : out) {
    for (float& f : s.features) f = static_cast<float>(random.unit() * 8);
    s.features[0] = static_cast<float>(-10 + random.unit());
    s.seconds =
        std::exp2(s.features[0] + std::abs(s.features[17] - 4) + (s.features[30] > 5 ? 2 : 0));
    s.task = task;
  }
  return out;
}

TEST(CostModel, IsTheAnalyticModelAtFirst) {
  Features fast{}, slow{};
  fast[0] = -12;
  slow[0] = -9;
  EXPECT_GT(CostModel().score(fast), CostModel().score(slow));
}

TEST(CostModel, ProgramsThatAreAlikeShareLeaves) {
  CostModel model;
  const Features some = made_up(3, 1, 4)[0].features;
  EXPECT_TRUE(model.leaves({&some, 1})[0].empty());
  model.learn(made_up(1, 300, 4));
  Features other = some, another = some;
  other[50] += 0.5F;                                               // no time depends on it
  another[30] = some[30] > 5 ? some[30] - 4.0F : some[30] + 4.0F;  // four times as slow or fast
  const std::vector<Features> all = {some, other, another};
  const auto leaves = model.leaves(all);
  const auto shared = [&](size_t i) {
    size_t n = 0;
    for (size_t t = 0; t < leaves[0].size(); ++t) n += leaves[0][t] == leaves[i][t];
    return static_cast<double>(n) / static_cast<double>(leaves[0].size());
  };
  ASSERT_EQ(leaves[0].size(), leaves[1].size());
  EXPECT_GT(shared(1), 0.8);
  EXPECT_LT(shared(2), shared(1) - 0.2);
}

TEST(CostModel, LearnsWhatTheAnalyticModelGetsWrong) {
  const std::vector<Sample> unseen = made_up(2, 100, 9);
  CostModel model;
  const double before = pairwise_accuracy(model, unseen);
  model.learn(made_up(1, 300, 4));
  EXPECT_LT(before, 0.75);
  EXPECT_GT(pairwise_accuracy(model, unseen), before + 0.1);
}

TEST(CostModel, SaysHowFarItsTreesAreApart) {
  CostModel model;
  const std::vector<Sample> known = made_up(4, 60, 1);
  EXPECT_EQ(model.guesses({&known[0].features, 1})[0].doubt, 0) << "it is the analytic model";
  model.learn(known);
  std::vector<Features> rows;
  for (const Sample& s : known) rows.push_back(s.features);
  const auto guesses = model.guesses(rows);
  const auto scores = model.scores(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(guesses[i].score, scores[i]);
    EXPECT_GE(guesses[i].doubt, 0);
  }
  EXPECT_TRUE(std::ranges::any_of(guesses, [](const auto& g) { return g.doubt > 0; }));
}

TEST(CostModel, RanksFailuresLast) {
  std::vector<Sample> samples = made_up(1, 200, 1);
  for (Sample& s : samples)
    if (s.features[40] > 4) s.seconds = INFINITY;
  CostModel model;
  model.learn(samples);
  Features good = samples[0].features, bad = good;
  good[40] = 1;
  bad[40] = 7;
  EXPECT_GT(model.score(good), model.score(bad));
}

TEST(CostModel, IsTheSameForTheSameSamples) {
  CostModel a, b;
  a.learn(made_up(1, 60, 1));
  a.learn(made_up(2, 60, 2));
  b.learn(made_up(1, 60, 1));
  b.learn(made_up(2, 60, 2));
  for (const Sample& s : made_up(3, 20, 1)) EXPECT_EQ(a.score(s.features), b.score(s.features));
}

TEST(CostModel, LearnsFromNothing) {
  CostModel model;
  model.learn({});
  model.learn(made_up(1, 1, 1));
  EXPECT_EQ(model.samples().size(), 1u);
}

}  // namespace
}  // namespace tilewright::tune
