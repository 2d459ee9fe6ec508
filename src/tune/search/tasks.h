// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::tune {

/// One kernel of a model, as the scheduler of tasks sees it.
struct TaskState {
  std::string name;
  double weight = 1;         // how often the model runs it
  double start_seconds = 0;  // untuned
  double roof_seconds = 0;   // no schedule should be faster; 0: not known
  std::vector<double> best;  // seconds of the best so far, after each batch
  double batch_seconds = 0;  // that a batch takes to try; 0: not known
  bool done = false;         // its search has nothing left

  double now() const { return best.empty() ? start_seconds : best.back(); }
};

/// The task whose next batch promises most for the time of the whole model in each second that it
/// takes: its share, times what it may still gain, times how fast it has gained lately. Nothing
/// when no task can gain.
std::optional<size_t> next_task(const std::vector<TaskState>& tasks);

/// Seconds of one run of the model with what is best so far.
double total_seconds(const std::vector<TaskState>& tasks);

}  // namespace tilewright::tune
