// SPDX-License-Identifier: Apache-2.0
#include "tune/records/samples.h"

#include <gtest/gtest.h>
#include <set>

#include "common/errors.h"
#include "support/process.h"
#include "tune/measure/tasks.h"

namespace tilewright::tune {
namespace {

class SamplesOfOthers : public testing::Test {
 protected:
  TempFolder folder_;
  Records records_{(folder_.path() / "records.db").string(), Database::Mode::Create};
  std::shared_ptr<const Task> product_ = product_task();

  void add(const Task& task, const std::string& trace, double ratio, int threads = 1,
           Verdict verdict = Verdict::Ok) {
    const Record r{.workload = task.workload,
                   .target = target_text(task.target),
                   .trace = trace,
                   .point = {},
                   .measurement = {.verdict = verdict,
                                   .error = {},
                                   .seconds = {},
                                   .time = {},
                                   .ratio = {ratio, ratio, ratio}},
                   .threads = threads,
                   .config = {},
                   .compiler = {},
                   .time = 0,
                   .name = "test"};
    records_.add(std::span(&r, 1));
  }
  std::vector<Sample> samples(const std::vector<std::string>& kernels) {
    return samples_of_others(records_, kernels, product_->target, 1, 7);
  }
  static std::string trace(const std::string& steps) { return "trace kernel {\n" + steps + "}\n"; }
};

TEST_F(SamplesOfOthers, AreProgramsWithTheirTimesAndThatOfTheDefaultSchedule) {
  const std::string split = trace(
      "  %b = block \"s0\"\n  %l0, %l1, %l2 = loops %b\n"
      "  parallel %l0\n");
  add(*product_, split, 3);
  const std::vector<Sample> all = samples({});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].seconds, 1);
  EXPECT_EQ(all[0].features,
            features_of(schedule::apply(default_trace(*product_), product_->func, {}),
                        product_->target, product_->constants));
  EXPECT_EQ(all[1].seconds, 3);
  EXPECT_EQ(all[1].features,
            features_of(schedule::apply(schedule::parse_trace(split, "test"), product_->func, {}),
                        product_->target, product_->constants));
  EXPECT_EQ(all[1].task, 7u);
}

TEST_F(SamplesOfOthers, LeaveOutTheKernelsThemselvesAndWhatSaysNothing) {
  add(*product_, trace(""), 2);
  EXPECT_TRUE(samples({product_->workload}).empty());
  Task broken = *product_;
  broken.workload = "no kernel at all";
  add(broken, trace(""), 2);
  add(*product_, trace(""), 2, /*threads=*/2);
  add(*product_, trace("  %b = block \"gone\"\n"), 2);
  add(*product_, trace("  // crashed\n"), 2, 1, Verdict::Crashed);
  EXPECT_EQ(samples({}).size(), 2u) << "the default schedule and the one that applies";
}

TEST_F(SamplesOfOthers, OfManyGoFromTheFastestToTheSlowest) {
  for (int i = 0; i < 60; ++i)
    add(*product_, trace("  // " + std::to_string(i) + "\n"), 1.5 + 0.01 * i);
  std::set<double> times;
  for (const Sample& s : samples({})) times.insert(s.seconds);
  EXPECT_LT(times.size(), 20u);
  EXPECT_GT(times.size(), 8u);
  EXPECT_TRUE(times.contains(1.5));
  EXPECT_TRUE(times.contains(1.5 + 0.01 * 59));
}

}  // namespace
}  // namespace tilewright::tune
