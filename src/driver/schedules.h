// SPDX-License-Identifier: Apache-2.0
// Schedules that tuning has found, for the kernels of a model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tune/measure/task.h"
#include "tune/records/records.h"

namespace tilewright::driver {

/// Where the schedule of a kernel comes from.
enum class ScheduleOrigin : uint8_t {
  Untuned,      // the model of the machine
  Tuned,        // the user's records, of this machine
  Shipped,      // the compiler's own records, of this kind of machine
  Transferred,  // records of a kernel of other sizes or of another machine: not measured here
};
std::string_view name(ScheduleOrigin origin);

/// A schedule from outside.
struct GivenSchedule {
  std::string trace;  // as text; empty: the default one, which tuning could not improve
  std::string note;   // for people: "1.21x the default, 95 % 1.18 … 1.24"
  ScheduleOrigin origin = ScheduleOrigin::Tuned;
};

/// What is known of a kernel; nothing when it was never tuned.
using Schedules = std::function<std::optional<GivenSchedule>(const tune::Task&)>;

/// What the records say, for the machine of the task. With `transfer`, kernels without a record get
/// the schedule of the nearest one that has one. Not for several threads at once.
Schedules schedules_from(std::shared_ptr<tune::Records> records, bool transfer = false,
                         ScheduleOrigin origin = ScheduleOrigin::Tuned);

/// Where a compilation takes schedules from; what comes first knows best.
struct ScheduleSources {
  std::string records;  // the user's file; may be empty
  bool shipped = true;
  bool transfer = false;  // of the user's file
};
/// Empty when there is none for these machines.
Schedules schedules_of(const ScheduleSources& sources, std::span<const ir::TargetSpec> targets);

/// `1.213x the default schedule (95 %: 1.180 … 1.242)`
std::string gain_text(const tune::Estimate& ratio);

}  // namespace tilewright::driver
