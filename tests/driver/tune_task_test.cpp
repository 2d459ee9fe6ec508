// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_task.h"

#include <gtest/gtest.h>
#include <set>

#include "lower/to_blocks.h"
#include "target/host.h"
#include "te/parse.h"

namespace tilewright::driver {
namespace {

std::shared_ptr<const tune::Task> product() {
  const char* text =
      "te mm(A: f32[48, 32], W: f32[32, 64]) {\n"
      "  C[y in 48, x in 64] = sum(k in 32) A[y, k] * W[k, x]\n  return C\n}";
  return std::make_shared<tune::Task>(tune::make_task(
      "mm", lower::to_blocks(te::parse_program(text)), {"W"}, target::parse_target("host")));
}

/// A machine on paper, on which every schedule takes its own time, and none is faster than the
/// default one.
tune::Measurement on_paper(const TaskTuner::Proposal& p) {
  const size_t hash = std::hash<std::string>()(schedule::print(p.candidate.trace));
  const double ratio = 1.1 + static_cast<double>(hash % 1000) / 1000;
  return {.verdict = tune::Verdict::Ok,
          .error = {},
          .seconds = {ratio},
          .time = {ratio, ratio, ratio},
          .ratio = {ratio, ratio, ratio}};
}

std::vector<std::string> points_of(TaskTuner& tuner, int batches) {
  std::vector<std::string> out;
  for (int i = 0; i < batches; ++i)
    for (const TaskTuner::Proposal& p : tuner.propose(8)) {
      out.push_back(p.point);
      tuner.report(p.point, on_paper(p));
    }
  return out;
}

TEST(TaskTuner, LooksAroundTheDefaultScheduleFirstAndThenEverywhere) {
  tune::CostModel model;
  TaskTuner tuner(product(), &model, 1, 0);
  const std::vector<std::string> points = points_of(tuner, 8);
  ASSERT_GE(points.size(), 40u);
  EXPECT_EQ(points.front().substr(0, 8), "nearby: ");
  EXPECT_EQ(points.back().substr(0, 5), "cpu: ");
  EXPECT_FALSE(model.samples().empty());
}

TEST(TaskTuner, ProposesEachScheduleOnceAndNeverTheDefaultOne) {
  tune::CostModel model;
  const auto task = product();
  TaskTuner tuner(task, &model, 1, 0);
  std::set<std::string> seen = {schedule::print(tune::default_trace(*task))};
  for (int i = 0; i < 3; ++i)
    for (const TaskTuner::Proposal& p : tuner.propose(8)) {
      EXPECT_TRUE(seen.insert(schedule::print(p.candidate.trace)).second) << p.point;
      EXPECT_NO_THROW(tune::scheduled(*task, p.candidate.trace));
      tuner.report(p.point, on_paper(p));
    }
}

TEST(TaskTuner, IsTheSameForASeedAndItsReports) {
  for (const bool learns : {true, false}) {
    tune::CostModel one, other;
    TaskTuner a(product(), learns ? &one : nullptr, 3, 0),
        b(product(), learns ? &other : nullptr, 3, 0);
    EXPECT_EQ(points_of(a, 4), points_of(b, 4)) << learns;
  }
}

TEST(TaskTuner, TriesWhatIsSuggestedFirstAndOnce) {
  tune::CostModel model;
  TaskTuner first(product(), &model, 1, 0), second(product(), &model, 1, 1);
  const std::vector<TaskTuner::Proposal> known = first.propose(8);
  const TaskTuner::Proposal& last = known.back();
  for (int i = 0; i < 2; ++i) second.suggest({last.candidate.trace, last.point});
  const std::vector<TaskTuner::Proposal> batch = second.propose(8);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].point, last.point);
  second.report(last.point, on_paper(last));
  for (const std::string& p : points_of(second, 4)) EXPECT_NE(p, last.point);
}

TEST(TaskTuner, TriesSoonWhatIsFastForAnotherKernel) {
  tune::CostModel model;
  TaskTuner first(product(), &model, 1, 0), second(product(), &model, 1, 1);
  points_of(first, 2);
  const std::string far = points_of(first, 1).back();
  second.propose(8);
  second.suggest("nearby: another.knob=1");
  second.suggest(far);
  EXPECT_EQ(second.propose(8).at(0).point, far);
  for (const std::string& p : points_of(second, 3)) EXPECT_NE(p, far);
}

TEST(TaskTuner, GoesOnFromAnEarlierRun) {
  tune::CostModel model, later;
  TaskTuner first(product(), &model, 1, 0), second(product(), &later, 2, 0);
  std::set<std::string> known;
  for (const TaskTuner::Proposal& p : first.propose(8)) {
    known.insert(p.point);
    second.report(p.point, on_paper(p));
  }
  second.report("nearby: s0.gone=3", {.verdict = tune::Verdict::Crashed});  // of another version
  for (const std::string& p : points_of(second, 2)) EXPECT_FALSE(known.contains(p)) << p;
  EXPECT_GE(later.samples().size(), 8u);
}

}  // namespace
}  // namespace tilewright::driver
