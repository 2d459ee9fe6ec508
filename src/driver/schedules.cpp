// SPDX-License-Identifier: Apache-2.0
#include "driver/schedules.h"

#include <cstdio>

namespace tilewright::driver {

std::string gain_text(const tune::Estimate& ratio) {
  char text[100];
  std::snprintf(text, sizeof text, "%.3fx the default schedule (95 %%: %.3f … %.3f)",
                1 / ratio.median, 1 / ratio.high, 1 / ratio.low);
  return text;
}

Schedules schedules_from(std::shared_ptr<tune::Records> records) {
  return [records = std::move(records)](const tune::Task& task) -> std::optional<GivenSchedule> {
    const auto choice = records->to_use(task.workload, tune::target_text(task.target));
    if (!choice) return {};
    if (!choice->record) return GivenSchedule{{}, "keeps the default schedule: " + choice->reason};
    return GivenSchedule{choice->record->trace, gain_text(choice->record->measurement.ratio)};
  };
}

}  // namespace tilewright::driver
