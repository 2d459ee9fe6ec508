// SPDX-License-Identifier: Apache-2.0
// Kernels with schedules from records, and a model that is tuned.
#include "driver/schedules.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "driver/check_model.h"
#include "driver/model.h"
#include "driver/transfer.h"
#include "driver/tune.h"
#include "graph/parse.h"
#include "ops/all.h"
#include "support/process.h"
#include "support/str.h"
#include "target/host.h"
#include "tune/space/nearby.h"

namespace tilewright::driver {
namespace {

constexpr const char* kModel = R"(
constant %a: f32[48, 64] = splat 0.5
graph main(%x: f32[32, 48]) {
  %p: f32[32, 64] = matmul(%x, %a)
  %y: f32[32, 64] = relu(%p)
  return %y
})";

class WithRecords : public testing::Test {
 protected:
  WithRecords() { options_.target = target::parse_target("host"); }

  graph::Graph model() const { return graph::parse(text_, ops::find); }

  /// The one kernel of the model, as a task.
  tune::Task task() {
    std::optional<tune::Task> found;
    ModelOptions options = options_;
    options.schedules = [&](const tune::Task& t) -> std::optional<GivenSchedule> {
      EXPECT_FALSE(found) << "there is more than one kernel";
      found = t;
      return {};
    };
    compile_model(model(), options);
    return *found;
  }

  void add_record(const std::string& trace, double ratio) {
    const tune::Task t = task();
    tune::Record r{.workload = t.workload,
                   .target = tune::target_text(t.target),
                   .trace = trace,
                   .point = {},
                   .measurement = {.verdict = tune::Verdict::Ok},
                   .name = t.name};
    r.measurement.ratio = {ratio, ratio, ratio};
    tune::Records(path_, tune::Database::Mode::Create).add(std::span(&r, 1));
  }
  ModelOptions from_records() const {
    ModelOptions options = options_;
    options.schedules =
        schedules_from(std::make_shared<tune::Records>(path_, tune::Database::Mode::Existing));
    return options;
  }
  BuiltKernel kernel(const ModelOptions& options) const {
    return compile_with_report(model(), options).kernels.kernels.at(0);
  }

  /// The compiled model computes what the graph means.
  void expect_right(const ModelOptions& options) const {
    const CheckOptions check{.model = options, .values = {}, .repro = {}};
    std::vector<float> x(32 * 48);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
    const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
    const auto value = graph::make_constant(ir::Elem::F32, {32, 48}, {bytes, bytes + 4 * x.size()});
    EXPECT_TRUE(check_model(model(), {{"x", value}}, check).equal);
  }

  TempFolder folder_;
  std::string path_ = (folder_.path() / "records.db").string();
  ModelOptions options_;
  std::string text_ = kModel;
};

// Two tiles instead of what the default schedule does.
constexpr const char* kTrace = R"(trace t {
  %c = block "s0"
  %y, %x, %k = loops %c
  %y0, %y1 = split %y [?, 4]
})";

TEST_F(WithRecords, TheSameKernelHasTheSameTextInEveryRun) {
  EXPECT_EQ(task().workload, task().workload);
  EXPECT_NE(task().workload.find("constant"), std::string::npos);
}

TEST_F(WithRecords, ARecordsTraceIsUsedAndResultsStay) {
  add_record(kTrace, 0.5);
  const BuiltKernel tuned = kernel(from_records()), untuned = kernel(options_);
  EXPECT_EQ(tuned.tuned.substr(0, 6), "2.000x") << tuned.tuned;
  EXPECT_EQ(tuned.refused, "");
  EXPECT_EQ(untuned.tuned, "");
  EXPECT_NE(tuned.code.code, untuned.code.code);
  expect_right(from_records());
}

TEST_F(WithRecords, ATraceThatDoesNotApplyIsReportedAndTheDefaultTaken) {
  for (const char* trace : {"trace t {\n  %c = block \"gone\"\n}", "no trace at all"}) {
    add_record(trace, 0.5);
    std::vector<std::string> warnings;
    ModelOptions options = from_records();
    options.warn = [&](const std::string& line) { warnings.push_back(line); };
    const BuiltKernel built = kernel(options);
    EXPECT_EQ(built.tuned, "");
    EXPECT_NE(built.refused, "");
    EXPECT_EQ(built.code.code, kernel(options_).code.code);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("is not used"), std::string::npos) << warnings[0];
    options.require_schedules = true;
    EXPECT_EQ(diagnostic_of([&] { kernel(options); }).code, "driver.records.untuned");
    std::filesystem::remove(path_);
  }
}

TEST_F(WithRecords, UntunedKernelsCanBeRefused) {
  tune::Records(path_, tune::Database::Mode::Create);
  ModelOptions options = from_records();
  EXPECT_EQ(kernel(options).tuned, "");
  options.require_schedules = true;
  const Diagnostic d = diagnostic_of([&] { kernel(options); });
  EXPECT_EQ(d.code, "driver.records.untuned");
  EXPECT_EQ(d.notes.size(), 1u);
}

/// As `task`, of other sizes: the same kernel in a model with `size` columns.
std::string model_of(int size) {
  return str("constant %a: f32[48, ", size,
             "] = splat 0.5\ngraph main(%x: f32[32, 48]) {\n  %p: f32[32, ", size,
             "] = matmul(%x, %a)\n  %y: f32[32, ", size, "] = relu(%p)\n  return %y\n}");
}

/// A record of a schedule near the default one of the task, twice as fast.
tune::Record faster_record(const tune::Task& task, const char* name) {
  const tune::Space space = tune::nearby_space(task.func, task.target, task.constants);
  tune::Record r{.workload = task.workload,
                 .target = tune::target_text(task.target),
                 .trace = {},
                 .point = {},
                 .measurement = {.verdict = tune::Verdict::Ok},
                 .name = name};
  for (const tune::Point& p : tune::next_best(space)) {
    r.point = "nearby: " + space.encode(p);
    r.trace = schedule::print(space.apply(p).trace());
    if (r.trace != schedule::print(tune::default_trace(task))) break;
  }
  r.measurement.ratio = {0.5, 0.5, 0.5};
  return r;
}

TEST_F(WithRecords, OfAnotherSizeAreUsedWhenAskedFor) {
  text_ = model_of(128);  // twice the columns
  const tune::Record r = faster_record(task(), "bigger");
  const auto records = std::make_shared<tune::Records>(path_, tune::Database::Mode::Create);
  records->add(std::span(&r, 1));

  text_ = model_of(64);
  EXPECT_EQ(kernel(from_records()).origin, ScheduleOrigin::Untuned);
  ModelOptions options = options_;
  options.schedules = schedules_from(records, true);
  const BuiltKernel built = kernel(options);
  EXPECT_EQ(built.origin, ScheduleOrigin::Transferred);
  EXPECT_NE(built.tuned.find("not measured; of `bigger` of other sizes"), std::string::npos)
      << built.tuned;
  EXPECT_NE(built.code.code, kernel(options_).code.code);
  expect_right(options);
  // It was never measured here.
  options.require_schedules = true;
  EXPECT_EQ(diagnostic_of([&] { kernel(options); }).code, "driver.records.untuned");

  // A search begins with it.
  TuneOptions tuning{.model = options_, .records = path_, .seconds = 600, .trials = 1};
  const TuneReport report = tune_model(model(), tuning);
  EXPECT_EQ(report.kernels.at(0).starts, 1u);
  const tune::Task mine = task();
  EXPECT_EQ(
      schedule::print(transferred(mine, records->near(mine.workload, r.target, 1).at(0))->trace),
      records->of(mine.workload, r.target).at(0).trace);
}

TEST_F(WithRecords, OfAKernelWithTheSameReductionAreAStartAndNoMore) {
  const tune::Record r = faster_record(task(), "with relu");
  const auto records = std::make_shared<tune::Records>(path_, tune::Database::Mode::Create);
  records->add(std::span(&r, 1));
  text_.replace(text_.find("relu"), 4, "sigmoid");
  const tune::Task mine = task();
  const tune::Records::Near near = records->near(mine.workload, r.target, 1).at(0);
  EXPECT_FALSE(near.same_kind);
  EXPECT_EQ(near.record->name, "with relu");
  EXPECT_NE(schedule::print(transferred(mine, near).value().trace),
            schedule::print(tune::default_trace(mine)));
  ModelOptions options = options_;
  options.schedules = schedules_from(records, true);
  EXPECT_EQ(kernel(options).origin, ScheduleOrigin::Untuned);
  TuneOptions tuning{.model = options_, .records = path_, .seconds = 600, .trials = 1};
  const TuneReport report = tune_model(model(), tuning);
  EXPECT_EQ(report.kernels.at(0).starts, 1u);
  EXPECT_EQ(report.learnt_before, 1u);
}

TEST_F(WithRecords, KernelsOfOtherKindsTakeNoPlaceOfThoseOfItsOwn) {
  const auto records = std::make_shared<tune::Records>(path_, tune::Database::Mode::Create);
  const auto add = [&](const char* name) {
    const tune::Record r = faster_record(task(), name);
    records->add(std::span(&r, 1));
  };
  for (const char* other : {"sigmoid", "tanh", "exp", "abs", "neg"}) {  // and of the same size
    text_ = model_of(64);
    text_.replace(text_.find("relu"), 4, other);
    add(other);
  }
  text_ = model_of(128);
  add("bigger");
  text_ = model_of(64);
  ModelOptions options = options_;
  options.schedules = schedules_from(records, true);
  EXPECT_NE(kernel(options).tuned.find("of `bigger`"), std::string::npos) << kernel(options).tuned;
}

TEST_F(WithRecords, ANearKernelThatKeepsItsDefaultSpeaksForIt) {
  const auto records = std::make_shared<tune::Records>(path_, tune::Database::Mode::Create);
  text_ = model_of(256);
  const tune::Record far = faster_record(task(), "far");
  records->add(std::span(&far, 1));
  text_ = model_of(128);
  const tune::Record nearer = faster_record(task(), "nearer");
  records->add(std::span(&nearer, 1));
  records->choose(nearer.workload, nearer.target, 0, "not in the model");
  text_ = model_of(64);
  ModelOptions options = options_;
  options.schedules = schedules_from(records, true);
  EXPECT_EQ(kernel(options).origin, ScheduleOrigin::Untuned);
}

TEST_F(WithRecords, OfAnotherMachineAreAStartToo) {
  const tune::Task mine = task();
  tune::Record r{.workload = mine.workload,
                 .target = "another machine",
                 .trace = kTrace,
                 .point = {},
                 .measurement = {.verdict = tune::Verdict::Ok},
                 .name = mine.name};
  r.measurement.ratio = {0.5, 0.5, 0.5};
  const tune::Records::Near near{.record = r, .same_kernel = true};
  EXPECT_EQ(schedule::print(transferred(mine, near).value().trace),
            schedule::print(schedule::parse_trace(kTrace, "test")));
  // What does not apply here is left alone: a size that does not divide, a block that is not there,
  // a text that is no trace, the default schedule itself.
  for (const std::string& trace :
       {std::string("trace t {\n  %c = block \"gone\"\n}"), std::string("no trace"),
        schedule::print(tune::default_trace(mine))}) {
    tune::Records::Near bad = near;
    bad.record->trace = trace;
    EXPECT_FALSE(transferred(mine, bad)) << trace;
  }
  tune::Records::Near no_workload = near;
  no_workload.same_kernel = false;
  no_workload.record->point = "nearby: s0.tile=4x4";
  no_workload.record->workload = "damaged";
  EXPECT_FALSE(transferred(mine, no_workload));
}

TEST_F(WithRecords, TuningMakesRecordsAndGoesOnFromThem) {
  TuneOptions options;
  options.model = options_;
  options.records = path_;
  options.seconds = 600;
  options.trials = 6;
  const TuneReport first = tune_model(model(), options);
  ASSERT_EQ(first.kernels.size(), 1u);
  EXPECT_GE(first.trials, 6);
  EXPECT_FALSE(first.interrupted);
  EXPECT_NE(first.kernels[0].outcome, "");
  const int64_t known = tune::Records(path_, tune::Database::Mode::Existing).count();
  EXPECT_EQ(known, first.trials);
  // What was decided is decided: tuned, or the default because nothing beats it.
  const auto use = schedules_from(
      std::make_shared<tune::Records>(path_, tune::Database::Mode::Existing))(task());
  ASSERT_TRUE(use);
  EXPECT_EQ(!use->trace.empty(), first.kernels[0].tuned);

  const std::atomic<bool> stop = true;
  options.stop = &stop;
  const TuneReport second = tune_model(model(), options);
  EXPECT_TRUE(second.interrupted);
  EXPECT_EQ(second.kernels[0].trials, known);
  EXPECT_EQ(tune::Records(path_, tune::Database::Mode::Existing).count(), known);
}

TEST(TuneBudget, IsReadWithItsUnit) {
  EXPECT_EQ(parse_budget("90s").seconds, 90);
  EXPECT_EQ(parse_budget("1.5min").seconds, 90);
  EXPECT_EQ(parse_budget("500trials").trials, 500);
  for (const char* wrong : {"", "60", "s", "-3s", "3 weeks", "1e9h", "nans"})
    EXPECT_EQ(diagnostic_of([&] { parse_budget(wrong); }).code, "driver.tune.budget") << wrong;
}

}  // namespace
}  // namespace tilewright::driver
