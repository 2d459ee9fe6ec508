// SPDX-License-Identifier: Apache-2.0
#include "tune/search/search.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "common/errors.h"
#include "lower/to_blocks.h"
#include "te/parse.h"
#include "tune/chosen.h"
#include "tune/model/cost_model.h"
#include "tune/space/master.h"

namespace tilewright::tune {
namespace {

using schedule::Schedule;

ir::LoopFunc matmul() {
  return lower::to_blocks(
      te::parse_program("te mm(A: f32[48, 32], B: f32[32, 64]) {\n"
                        "  C[y in 48, x in 64] = sum(k in 32) A[y, k] * B[k, x]\n  return C\n}"));
}

/// A machine that exists on paper: its times follow from the tiles.
double seconds_on_paper(const Space& space, const Point& p) {
  const Features f = features_of(space.apply(p).func(), wide_machine());
  return std::exp2(f[0]) * (1 + std::abs(f[17] - 12) / 8) * (1 + 0.1 * f[26]);
}

std::vector<Trial> run(Search& search, const Space& space, size_t trials, size_t batch = 8) {
  std::vector<Trial> out;
  while (out.size() < trials && !search.done()) {
    std::vector<Trial> measured;
    for (const Point& p : search.propose(std::min(batch, trials - out.size())))
      measured.push_back({p, seconds_on_paper(space, p)});
    if (measured.empty()) break;
    search.report(measured);
    out.insert(out.end(), measured.begin(), measured.end());
  }
  return out;
}

double best_of(const std::vector<Trial>& trials) {
  double best = INFINITY;
  for (const Trial& t : trials) best = std::min(best, t.seconds);
  return best;
}

class SearchStrategies : public testing::TestWithParam<Strategy> {};

TEST_P(SearchStrategies, ProposeEachLegalPointOnceAndTheSameForASeed) {
  const Space space = cpu_space(matmul(), wide_machine());
  const ir::TargetSpec spec = wide_machine();
  std::vector<std::vector<std::string>> runs;
  for (const int threads : {1, 3}) {
    CostModel model;
    Search search(space,
                  {.strategy = GetParam(), .seed = 3, .chains = 4, .steps = 4, .threads = threads},
                  {.model = &model, .spec = &spec});
    runs.emplace_back();
    std::set<std::string> seen;
    for (const Trial& t : run(search, space, 24)) {
      EXPECT_TRUE(space.legal(t.point));
      EXPECT_TRUE(seen.insert(space.encode(t.point)).second);
      runs.back().push_back(space.encode(t.point));
    }
    EXPECT_EQ(runs.back().size(), 24u);
    ASSERT_TRUE(search.best());
    EXPECT_EQ(search.best()->seconds, best_of(search.trials()));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

INSTANTIATE_TEST_SUITE_P(All, SearchStrategies,
                         testing::Values(Strategy::Learned, Strategy::Annealing, Strategy::Random,
                                         Strategy::Grid),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(Search, LearnedFindsMoreThanChance) {
  const Space space = cpu_space(matmul(), wide_machine());
  const ir::TargetSpec spec = wide_machine();
  double learned = 0, random = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    CostModel model;
    Search with(space, {.seed = seed, .chains = 6, .steps = 6, .cold = true},
                {.model = &model, .spec = &spec});
    learned += std::log(best_of(run(with, space, 32)));
    Search without(space, {.strategy = Strategy::Random, .seed = seed});
    random += std::log(best_of(run(without, space, 32)));
  }
  EXPECT_LT(learned, random);
}

/// 512 points: tiles of 8 sizes, of each 64 that differ in what no model sees.
Space tiles_with_labels() {
  return Space(matmul(), {"labelled", [](Schedule& s, Knobs& k) {
                            const int64_t rows = k.number("rows", {1, 2, 3, 4, 6, 8, 12, 16});
                            std::vector<int64_t> labels(64);
                            std::iota(labels.begin(), labels.end(), 0);
                            const int64_t label = k.number("label", labels);
                            const auto [y, x, r] = s.loops<3>("C");
                            const auto [y0, y1] = s.split<2>(y, {schedule::kOpen, rows});
                            const auto [x0, x1] = s.split<2>(x, {schedule::kOpen, 16});
                            s.reorder({y0, x0, r, y1, x1});
                            s.vectorize(x1);
                            s.unroll(y1);
                            s.annotate(y0, "label", label);
                          }});
}

size_t sizes_in(const std::vector<Point>& batch, const Space& space) {
  std::set<std::string> sizes;
  for (const Point& p : batch) {
    const std::string text = space.encode(p);
    sizes.insert(text.substr(0, text.find(' ')));
  }
  return sizes.size();
}

TEST(Search, TheFirstBatchIsNotManyVariantsOfOnePoint) {
  const Space space = tiles_with_labels();
  const ir::TargetSpec spec = wide_machine();
  CostModel model;
  Search search(space, {.seed = 5, .explore = 0}, {.model = &model, .spec = &spec});
  EXPECT_GE(sizes_in(search.propose(8), space), 4u);
}

TEST(Search, TriesAllOfASmallSpace) {
  const Space space(matmul(), {"small", [](Schedule& s, Knobs& k) {
                                 const int64_t n = k.number("n", {1, 2, 4, 8});
                                 const bool unroll = k.boolean("unroll");
                                 const auto [o, i] =
                                     s.split<2>(s.loops("C")[0], {schedule::kOpen, n});
                                 if (unroll) s.unroll(i);
                               }});
  Search search(space, {.strategy = Strategy::Random});
  EXPECT_EQ(search.propose(100).size(), 8u);
  EXPECT_TRUE(search.done());
  EXPECT_NE(search.why_done().find("every point"), std::string::npos);
  EXPECT_TRUE(search.propose(1).empty());
}

TEST(Search, LeavesRefusedPointsOut) {
  const Space space(matmul(), {"sometimes", [](Schedule& s, Knobs& k) {
                                 const int64_t n = k.number("loop", {0, 1, 2});
                                 s.parallel(s.loops("C")[static_cast<size_t>(n)]);
                               }});
  Search search(space, {.strategy = Strategy::Grid});
  EXPECT_EQ(search.propose(10).size(), 2u);
  EXPECT_EQ(search.refused(), 1u);
  EXPECT_NE(search.refusal().find("schedule.loop.dependence"), std::string::npos);
}

TEST(Search, SaysThatASpaceIsEmpty) {
  const Space space(matmul(), {"none", [](Schedule&, Knobs& k) {
                                 k.number("n", {1, 2});
                                 k.require("n > 2", {"n"},
                                           [](const Values& v) { return v[0]->front() > 2; });
                               }});
  Search search(space, {.strategy = Strategy::Random});
  EXPECT_TRUE(search.done());
  EXPECT_TRUE(search.propose(4).empty());
  EXPECT_NE(search.why_done().find("n > 2"), std::string::npos);
  EXPECT_FALSE(search.best());
}

TEST(Search, StopsWhenNothingIsGained) {
  const Space space = cpu_space(matmul(), wide_machine());
  Search search(space, {.strategy = Strategy::Random, .patience = 10});
  while (!search.done()) {
    std::vector<Trial> trials;
    for (const Point& p : search.propose(4)) trials.push_back({p, 1.0});
    ASSERT_LT(search.trials().size(), 40u);
    search.report(trials);
  }
  EXPECT_NE(search.why_done().find("no gain in the last 10"), std::string::npos);
}

TEST(Search, GoesOnAfterFailures) {
  const Space space = cpu_space(matmul(), wide_machine());
  const ir::TargetSpec spec = wide_machine();
  CostModel model;
  Search search(space, {.chains = 4, .steps = 3}, {.model = &model, .spec = &spec});
  for (int i = 0; i < 3; ++i) {
    std::vector<Trial> trials;
    for (const Point& p : search.propose(4)) trials.push_back({p, INFINITY});
    EXPECT_EQ(trials.size(), 4u);
    search.report(trials);
  }
  EXPECT_FALSE(search.best());
}

TEST(Search, StartsWithWhatIsKnown) {
  const Space space = cpu_space(matmul(), wide_machine());
  ir::Random random(9);
  const Point known = *space.random(random);
  Search search(space, {.strategy = Strategy::Random, .start = {known}});
  EXPECT_EQ(search.propose(3)[0], known);
}

TEST(Search, StartsInTheOrderOfAModelThatHasLearnt) {
  const Space space = cpu_space(matmul(), wide_machine());
  const ir::TargetSpec spec = wide_machine();
  ir::Random random(9);
  std::vector<Point> start;
  while (start.size() < 12) {
    const Point p = *space.random(random);
    if (std::ranges::count(start, p) == 0) start.push_back(p);
  }
  const SearchOptions options{.start = start, .start_trials = 5};
  CostModel model;
  const Guide guide{.model = &model, .spec = &spec};
  Search first(space, options, guide);
  EXPECT_EQ(first.propose(3), std::vector<Point>(start.begin(), start.begin() + 3));
  Search teacher(space, {.seed = 2, .chains = 4, .steps = 2}, guide);
  run(teacher, space, 48);
  ASSERT_TRUE(model.has_learnt());
  std::ranges::stable_sort(start, std::greater(), [&](const Point& p) {
    return model.score(features_of(space.apply(p).func(), spec));
  });
  Search second(space, options, guide);
  std::vector<Point> proposed;
  for (int batch = 0; batch < 2; ++batch)
    for (const Point& p : second.propose(4)) proposed.push_back(p);
  ASSERT_EQ(proposed.size(), 8u);
  EXPECT_TRUE(std::equal(start.begin(), start.begin() + 5, proposed.begin()));
  for (size_t i = 5; i < 8; ++i) EXPECT_NE(proposed[i], start[5]) << "5 are enough";
}

TEST(Search, CountsWhatAnEarlierRunStartedWith) {
  const Space space = cpu_space(matmul(), wide_machine());
  ir::Random random(9);
  std::vector<Point> start;
  for (int i = 0; i < 6; ++i) start.push_back(*space.random(random));
  Search search(space, {.strategy = Strategy::Random, .start = start, .start_trials = 4});
  search.report({{start[0], 1}, {start[2], 1}, {start[4], 1}});
  const std::vector<Point> batch = search.propose(3);
  EXPECT_EQ(batch.at(0), start[1]);
  for (const Point& p : {batch.at(1), batch.at(2)}) EXPECT_EQ(std::ranges::count(start, p), 0);
}

TEST(Search, TriesSuggestionsFirstTheLatestBeforeAll) {
  const Space space = cpu_space(matmul(), wide_machine());
  ir::Random random(9);
  std::vector<Point> points;
  for (int i = 0; i < 3; ++i) points.push_back(*space.random(random));
  Search search(space, {.strategy = Strategy::Random, .start = {points[0]}});
  search.suggest(points[1]);
  search.suggest(points[2]);
  search.suggest(points[1]);
  EXPECT_EQ(search.propose(3), (std::vector<Point>{points[1], points[2], points[0]}));
}

TEST(Search, KnowsItsStrategiesByName) {
  EXPECT_EQ(strategy_from_name("annealing"), Strategy::Annealing);
  EXPECT_EQ(diagnostic_of([] { strategy_from_name("magic"); }).code, "tune.search.strategy");
}

TEST(Search, KnowsWhatProposedPointsComeTo) {
  const Space space = cpu_space(matmul(), wide_machine());
  const ir::TargetSpec spec = wide_machine();
  CostModel model;
  Search search(space, {.seed = 4, .chains = 4, .steps = 2}, {.model = &model, .spec = &spec});
  run(search, space, 16);
  for (const Point& p : search.propose(4)) {
    const Schedule s = space.apply(p);
    EXPECT_EQ(schedule::print(search.trace(p)), schedule::print(s.trace()));
    EXPECT_EQ(search.score(p), model.score(features_of(s.func(), spec)));
  }
  Search blind(space, {.strategy = Strategy::Random});
  for (const Point& p : blind.propose(2)) {
    EXPECT_EQ(schedule::print(blind.trace(p)), schedule::print(space.apply(p).trace()));
    EXPECT_EQ(blind.score(p), 0);
  }
}

}  // namespace
}  // namespace tilewright::tune
