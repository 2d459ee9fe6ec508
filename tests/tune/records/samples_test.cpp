// SPDX-License-Identifier: Apache-2.0
#include "tune/records/samples.h"

#include <gtest/gtest.h>

#include "support/process.h"
#include "support/str.h"
#include "tune/measure/tasks.h"

namespace tilewright::tune {
namespace {

class SamplesOfOthers : public testing::Test {
 protected:
  TempFolder folder_;
  Records records_{(folder_.path() / "records.db").string(), Database::Mode::Create};
  std::shared_ptr<const Task> product_ = product_task();

  void add(const Task& task, const std::string& trace, double ratio, int threads = 1) {
    const Record r{.workload = task.workload,
                   .target = target_text(task.target),
                   .trace = trace,
                   .point = {},
                   .measurement = {.verdict = Verdict::Ok,
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

TEST_F(SamplesOfOthers, AreProgramsWithTheirTimes) {
  const std::string text =
      trace("  %b = block \"s0\"\n  %l0, %l1, %l2 = loops %b\n  parallel %l0\n");
  add(*product_, text, 3);
  add(*product_, trace(""), 4);
  const std::vector<Sample> all = samples({});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].seconds, 3);
  EXPECT_EQ(all[0].features,
            features_of(schedule::apply(schedule::parse_trace(text, "test"), product_->func, {}),
                        product_->target, product_->constants));
  EXPECT_EQ(all[1].seconds, 4);
  EXPECT_NE(all[0].features, all[1].features);
  for (const Sample& s : all) EXPECT_EQ(s.task, 7u);
}

TEST_F(SamplesOfOthers, LeaveOutTheKernelsThemselvesAndWhatSaysNothing) {
  add(*product_, trace(""), 2);
  EXPECT_TRUE(samples({product_->workload}).empty());
  Task broken = *product_;
  broken.workload = "no kernel at all";
  add(broken, trace(""), 2);
  add(*product_, trace("  // two\n"), 2, /*threads=*/2);
  add(*product_, trace("  %b = block \"gone\"\n"), 2);
  add(*product_, trace("  %b = block \"s0\"\n  %l, %m, %n = loops %b\n  partition %l [?]\n"), 2);
  add(*product_, "no trace", 2);
  EXPECT_EQ(samples({}).size(), 1u) << "the one that applies";
}

TEST_F(SamplesOfOthers, OfKernelsWithTheSameReductionComeBeforeTheRest) {
  const auto with = [](const char* after) {
    return task_of(str("te m(A: f32[48, 64], W: f32[64, 80]) {\n"
                       "  C[y in 48, x in 80] = sum(k in 64) A[y, k] * W[k, x]\n"
                       "  R[y in 48, x in 80] = ",
                       after, "\n  return R\n}")
                       .c_str(),
                   {"W"});
  };
  const auto grown = with("exp(C[y, x])"), twice = with("C[y, x] + A[y, 0]");
  const auto other = task_of("te s(A: f32[9]) {\n  B[i in 9] = exp(A[i])\n  return B\n}");
  for (const Task* t : {grown.get(), twice.get(), other.get()}) add(*t, trace(""), 2);
  std::vector<std::string> order;
  for (const auto& p :
       records_.others({product_->workload}, target_text(product_->target), 1, 9, 9))
    order.push_back(p.workload);
  EXPECT_EQ(order, (std::vector<std::string>{twice->workload, grown->workload, other->workload}));
}

}  // namespace
}  // namespace tilewright::tune
