// SPDX-License-Identifier: Apache-2.0
#include "driver/shipped.h"

#include <gtest/gtest.h>
#include <sstream>

#include "driver/schedules.h"
#include "lower/to_blocks.h"
#include "support/process.h"
#include "target/host.h"
#include "te/parse.h"

namespace tilewright::driver {
namespace {

using tune::Database;

tune::Task product() {
  const char* text =
      "te mm(A: f32[48, 32], W: f32[32, 64]) {\n"
      "  C[y in 48, x in 64] = sum(k in 32) A[y, k] * W[k, x]\n  return C\n}";
  return tune::make_task("mm", lower::to_blocks(te::parse_program(text)), {"W"},
                         target::parse_target("host"));
}

/// What tuning leaves: several records of the kernel, one of which was chosen.
std::string lines_for(const tune::Task& task, bool chosen) {
  tune::Records records(":memory:", Database::Mode::Create);
  std::vector<tune::Record> all;
  for (const double ratio : {0.9, 0.8, 1.2}) {
    tune::Record& r = all.emplace_back(tune::Record{.workload = task.workload,
                                                    .target = tune::target_text(task.target),
                                                    .trace = schedule::print(default_trace(task)),
                                                    .point = {},
                                                    .measurement = {.verdict = tune::Verdict::Ok}});
    r.measurement.seconds = {ratio};
    r.measurement.time = r.measurement.ratio = {ratio, ratio, ratio};
  }
  records.add(all);
  records.choose(task.workload, all[0].target, chosen ? 1 : 0, "for the test");
  std::ostringstream out;
  tune::export_lines(records, out, tune::Exported::Chosen);
  return out.str();
}

TEST(Shipped, AreForTheirMachineAlone) {
  const tune::Task task = product();
  const std::string lines = lines_for(task, true);
  const auto found = records_for({&task.target, 1}, lines);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 1);  // the chosen one, not the others
  const auto given = schedules_from(found, false, ScheduleOrigin::Shipped)(task);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->origin, ScheduleOrigin::Shipped);
  EXPECT_EQ(given->note.substr(0, 6), "1.111x");

  tune::Task elsewhere = task;
  elsewhere.target.cores += 1;
  EXPECT_FALSE(records_for({&elsewhere.target, 1}, lines));
  const std::vector<ir::TargetSpec> both = {elsewhere.target, task.target};
  EXPECT_FALSE(schedules_from(records_for(both, lines))(elsewhere));
  elsewhere = task;
  elsewhere.target.l2_bytes *= 2;
  EXPECT_FALSE(records_for({&elsewhere.target, 1}, lines));
}

TEST(Shipped, WhatKeepsItsDefaultScheduleIsNotAmongThem) {
  EXPECT_EQ(lines_for(product(), false), "");
}

TEST(Shipped, ComeAfterTheUsersOwnAndBeforeWhatIsTransferred) {
  const tune::Task task = product();
  EXPECT_FALSE(schedules_of({.records = {}, .shipped = false}, {&task.target, 1}));
  const TempFolder folder;
  const std::string path = (folder.path() / "r.db").string();
  {
    tune::Records own(path, Database::Mode::Create);
    own.choose(task.workload, tune::target_text(task.target), 0, "it is best");
  }
  const Schedules all = schedules_of({.records = path, .transfer = true}, {&task.target, 1});
  const auto given = all(task);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->origin, ScheduleOrigin::Tuned);
  EXPECT_EQ(given->trace, "");
}

// The file itself: each is whole, was faster in its model, and still applies to its kernel.
TEST(Shipped, AllApply) {
  tune::Records records(":memory:", Database::Mode::Create);
  std::istringstream in{std::string(shipped_lines())};
  const tune::Imported imported = tune::import_lines(records, in);
  EXPECT_TRUE(imported.problems.empty()) << imported.problems[0];
  EXPECT_EQ(imported.known, 0u);
  for (const tune::Records::Summary& s : records.summaries()) {
    ASSERT_TRUE(s.choice && s.choice->record) << s.name;
    EXPECT_TRUE(s.choice->record->measurement.beats_default()) << s.name;
    if (s.target != tune::target_text(target::parse_target("host"))) continue;
    const tune::Task task = tune::task_from(s.workload, target::parse_target("host"));
    EXPECT_NO_THROW(tune::scheduled(task, schedule::parse_trace(s.choice->record->trace, "test")))
        << s.name;
  }
}

}  // namespace
}  // namespace tilewright::driver
