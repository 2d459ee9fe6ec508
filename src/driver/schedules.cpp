// SPDX-License-Identifier: Apache-2.0
#include "driver/schedules.h"

#include <cstdio>

#include "driver/shipped.h"
#include "driver/transfer.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

constexpr size_t kTried = 4;     // near records, until one applies
constexpr double kFarthest = 2;  // doublings of sizes: beyond, too little is alike

std::optional<GivenSchedule> from_near(const tune::Task& task, tune::Records& records) {
  size_t tried = 0;
  for (const tune::Records::Near& near :
       records.near(task.workload, tune::target_text(task.target), SIZE_MAX)) {
    // Of another kind it is a start for trials; unmeasured it is more often slower than faster.
    if (near.distance > kFarthest || !near.same_kind) continue;
    // The nearest one that was tuned here has none: most likely nothing is faster here, either.
    if (!near.record && !near.same_kernel) return {};
    if (tried++ == kTried) break;
    const std::optional<Transferred> found = transferred(task, near);
    if (!found) continue;
    return GivenSchedule{schedule::print(found->trace),
                         str("not measured; of `", near.record->name, "`",
                             near.same_kernel ? " on another machine" : " of other sizes",
                             ", there ", gain_text(near.record->measurement.ratio)),
                         ScheduleOrigin::Transferred};
  }
  return {};
}

}  // namespace

std::string gain_text(const tune::Estimate& ratio) {
  char text[100];
  std::snprintf(text, sizeof text, "%.3fx the default schedule (95 %%: %.3f … %.3f)",
                1 / ratio.median, 1 / ratio.high, 1 / ratio.low);
  return text;
}

std::string_view name(ScheduleOrigin origin) {
  switch (origin) {
    case ScheduleOrigin::Untuned: return "untuned";
    case ScheduleOrigin::Tuned: return "tuned";
    case ScheduleOrigin::Shipped: return "shipped";
    case ScheduleOrigin::Transferred: return "transferred";
  }
  throw InternalError("unknown origin of a schedule");
}

Schedules schedules_from(std::shared_ptr<tune::Records> records, bool transfer,
                         ScheduleOrigin origin) {
  return [=, records = std::move(records)](const tune::Task& task) -> std::optional<GivenSchedule> {
    const auto choice = records->to_use(task.workload, tune::target_text(task.target));
    if (!choice) return transfer ? from_near(task, *records) : std::nullopt;
    if (!choice->record)
      return GivenSchedule{{}, "keeps the default schedule: " + choice->reason, origin};
    return GivenSchedule{choice->record->trace, gain_text(choice->record->measurement.ratio),
                         origin};
  };
}

Schedules schedules_of(const ScheduleSources& sources, std::span<const ir::TargetSpec> targets) {
  // Before any that were transferred: those were never measured.
  std::vector<Schedules> all;
  std::shared_ptr<tune::Records> own;
  if (!sources.records.empty()) {
    own = std::make_shared<tune::Records>(sources.records, tune::Database::Mode::Existing);
    all.push_back(schedules_from(own));
  }
  if (sources.shipped)
    if (const auto shipped = records_for(targets))
      all.push_back(schedules_from(shipped, false, ScheduleOrigin::Shipped));
  if (own && sources.transfer) all.push_back(schedules_from(own, true));
  if (all.empty()) return {};
  return [all = std::move(all)](const tune::Task& task) -> std::optional<GivenSchedule> {
    for (const Schedules& source : all)
      if (std::optional<GivenSchedule> found = source(task)) return found;
    return {};
  };
}

}  // namespace tilewright::driver
