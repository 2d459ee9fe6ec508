// SPDX-License-Identifier: Apache-2.0
#include "tune/records/samples.h"

#include <algorithm>

#include "runtime/thread_pool.h"
#include "support/diagnostic.h"
#include "support/in_parallel.h"
#include "tune/measure/task.h"

namespace tilewright::tune {
namespace {

// A program takes some 10 ms to schedule: so many are a second or two.
constexpr size_t kKernels = 24, kOfEach = 10;

/// So many of them, from the fastest to the slowest in even steps: pairs are what is learnt from.
std::vector<Record> spread(std::vector<Record> all, size_t count) {
  std::ranges::stable_sort(all, {}, [](const Record& r) { return r.measurement.ratio.median; });
  if (all.size() <= count) return all;
  std::vector<Record> out;
  for (size_t i = 0; i < count; ++i) out.push_back(all[i * (all.size() - 1) / (count - 1)]);
  return out;
}

/// A program of a kernel and its time over that of the default schedule.
struct Measured {
  const Task* task;
  std::string trace;  // empty: the default schedule itself
  double ratio;
  uint64_t number;
};

}  // namespace

std::vector<Sample> samples_of_others(Records& records, const std::vector<std::string>& kernels,
                                      const ir::TargetSpec& target, int kernel_threads,
                                      uint64_t first_task) {
  const std::string machine = target_text(target);
  std::vector<std::unique_ptr<Task>> tasks;
  std::vector<Measured> measured;
  for (const std::string& workload : records.others(kernels, machine)) {
    if (tasks.size() == kKernels) break;
    std::vector<Record> all = records.of(workload, machine);
    std::erase_if(all, [&](const Record& r) {
      return !r.measurement.ok() || r.threads != kernel_threads || r.trace.empty();
    });
    if (all.empty()) continue;
    try {
      tasks.push_back(std::make_unique<Task>(task_from(workload, target)));
    } catch (const Error&) {
      continue;
    }
    const uint64_t number = first_task + tasks.size() - 1;
    measured.push_back({tasks.back().get(), {}, 1, number});
    for (Record& r : spread(std::move(all), kOfEach))
      measured.push_back(
          {tasks.back().get(), std::move(r.trace), r.measurement.ratio.median, number});
  }
  std::vector<std::optional<Sample>> found(measured.size());
  in_parallel(measured.size(), runtime::available_cpus(), [&](size_t i) {
    const auto& [task, trace, ratio, number] = measured[i];
    try {
      const schedule::Trace steps =
          trace.empty() ? default_trace(*task) : schedule::parse_trace(trace, "record");
      found[i] = {features_of(schedule::apply(steps, task->func, target.instructions), target,
                              task->constants),
                  ratio, number};
    } catch (const Error&) {  // of a version with other steps
    }
  });
  std::vector<Sample> out;
  for (const auto& sample : found)
    if (sample) out.push_back(*sample);
  return out;
}

}  // namespace tilewright::tune
