// SPDX-License-Identifier: Apache-2.0
#include "tune/search/tasks.h"

#include <algorithm>
#include <cmath>

namespace tilewright::tune {
namespace {

// Batches that say how fast a task has gained lately.
constexpr size_t kWindow = 3;
// What an unknown task is believed to gain with its first batch, as share of its time.
constexpr double kHope = 0.2;
// What may be wrong about a roof: a cache that keeps more than it seems to, or is faster.
constexpr double kDoubt = 0.05;

/// Seconds that the next batch may take off one run of the kernel.
double promise(const TaskState& task) {
  const double now = task.now();
  const double room = std::max(now - task.roof_seconds, kDoubt * now);
  const auto batches = static_cast<double>(task.best.size());
  double lately = 0;
  if (!task.best.empty()) {
    const size_t window = std::min(kWindow, task.best.size());
    const double before =
        task.best.size() > window ? task.best[task.best.size() - 1 - window] : task.start_seconds;
    lately = std::max(before - now, 0.0) / static_cast<double>(window);
  }
  // Hope fades with each batch, gains go on about as they did.
  return std::min(room, std::max(lately, kHope * now / (1 + batches * batches)));
}

}  // namespace

std::optional<size_t> next_task(const std::vector<TaskState>& tasks) {
  std::optional<size_t> best;
  double most = 0, known = 0, all = 0;
  for (const TaskState& t : tasks) {
    all += t.batch_seconds;
    known += t.batch_seconds > 0;
  }
  const double typical = known > 0 ? all / known : 1;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].done) continue;
    const double seconds = tasks[i].batch_seconds > 0 ? tasks[i].batch_seconds : typical;
    const double gain = tasks[i].weight * promise(tasks[i]) / seconds;
    if (gain > most) {
      most = gain;
      best = i;
    }
  }
  return best;
}

double total_seconds(const std::vector<TaskState>& tasks) {
  double all = 0;
  for (const TaskState& t : tasks) all += t.weight * t.now();
  return all;
}

}  // namespace tilewright::tune
