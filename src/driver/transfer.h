// SPDX-License-Identifier: Apache-2.0
// Schedules of records for kernels that have none: of other sizes, or of another machine.
#pragma once

#include <optional>
#include <string>

#include "tune/measure/task.h"
#include "tune/records/records.h"

namespace tilewright::driver {

/// The spaces that points of records are of; their texts start so.
inline constexpr std::string_view kNearbyPrefix = "nearby: ", kMasterPrefix = "cpu: ";

/// A schedule that applies to a task; whether it is fast there, nobody has measured.
struct Transferred {
  schedule::Trace trace;
  std::string point;  // for a record; empty when it is the other one's trace as it was
};

/// The record's decisions for this task; those about its core where the kernels have no more in
/// common. Sizes are fitted to those of the task, and every step proves again that it may be done.
/// Nothing when they do not apply, or come to the default schedule.
std::optional<Transferred> transferred(const tune::Task& task, const tune::Records::Near& from);

}  // namespace tilewright::driver
