// SPDX-License-Identifier: Apache-2.0
// Tuning one function with a template of its author, on this machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tune/measure/task.h"
#include "tune/records/record.h"
#include "tune/search/search.h"

namespace tilewright::driver {

/// The function as a task: schedules are for its own blocks, by their own names.
std::shared_ptr<const tune::Task> task_of(const ir::LoopFunc& func, const ir::TargetSpec& target);

struct SpaceTuning {
  int64_t trials = 64;  // at most
  double seconds = 60;  // at most, for trials
  int threads = 1;      // of the kernel
  uint64_t seed = 1;
  std::optional<tune::Strategy> strategy;  // none: learned where the library for it is installed
  std::string records;  // a file to keep trials in, and to go on from; empty: none
  std::function<void(const std::vector<tune::Record>&)> on_batch;  // may throw, which ends it
};

struct SpaceTuned {
  std::vector<tune::Record> trials;  // in the order they were measured, with those of earlier runs
  std::optional<tune::Record> best;  // measured again and longer; none: nothing ran
  std::string why_done;              // before its budget was spent; empty: it was
  size_t refused = 0;                // points whose steps may not be done
};

/// Searches a space whose schedules are for `task->func`. Times are relative to the default
/// schedule.
SpaceTuned tune_space(const std::shared_ptr<const tune::Task>& task, const tune::Space& space,
                      const SpaceTuning& options);

}  // namespace tilewright::driver
