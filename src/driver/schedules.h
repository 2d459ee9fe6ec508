// SPDX-License-Identifier: Apache-2.0
// Schedules that tuning has found, for the kernels of a model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tune/measure/task.h"
#include "tune/records/records.h"

namespace tilewright::driver {

/// A schedule from outside.
struct GivenSchedule {
  std::string trace;  // as text; empty: the default one, which tuning could not improve
  std::string note;   // for people: "1.21x the default, 95 % 1.18 … 1.24"
};

/// What is known of a kernel; nothing when it was never tuned.
using Schedules = std::function<std::optional<GivenSchedule>(const tune::Task&)>;

/// What the records say, for the machine of the task. Not for several threads at once.
Schedules schedules_from(std::shared_ptr<tune::Records> records);

/// `1.213x the default schedule (95 %: 1.180 … 1.242)`
std::string gain_text(const tune::Estimate& ratio);

}  // namespace tilewright::driver
