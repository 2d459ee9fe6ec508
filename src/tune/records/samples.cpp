// SPDX-License-Identifier: Apache-2.0
#include "tune/records/samples.h"

#include <memory>

#include "runtime/thread_pool.h"
#include "support/in_parallel.h"
#include "tune/measure/task.h"

namespace tilewright::tune {

// A program takes some 10 ms to schedule: so many are a second or two.
constexpr size_t kKernels = 24, kOfEach = 10;

std::vector<Sample> samples_of_others(Records& records, const std::vector<std::string>& kernels,
                                      const ir::TargetSpec& target, int kernel_threads,
                                      uint64_t first_task) {
  std::vector<std::unique_ptr<Task>> tasks;
  struct Program {
    const Task* task;
    Records::Programs::Measured measured;
    uint64_t number;
  };
  std::vector<Program> programs;
  for (Records::Programs& of :
       records.others(kernels, target_text(target), kernel_threads, kKernels, kOfEach))
    try {
      tasks.push_back(std::make_unique<Task>(task_from(of.workload, target)));
      for (Records::Programs::Measured& m : of.measured)
        programs.push_back({tasks.back().get(), std::move(m), first_task + tasks.size() - 1});
    } catch (const std::exception&) {  // of a file: it may be anything
    }
  std::vector<std::optional<Sample>> found(programs.size());
  in_parallel(programs.size(), runtime::available_cpus(), [&](size_t i) {
    const auto& [task, measured, number] = programs[i];
    try {
      const ir::LoopFunc scheduled = schedule::apply(
          schedule::parse_trace(measured.trace, "record"), task->func, target.instructions);
      found[i] = {features_of(scheduled, target, task->constants), measured.ratio, number};
    } catch (const std::exception&) {  // likewise, or of a version with other steps
    }
  });
  std::vector<Sample> out;
  for (const auto& sample : found)
    if (sample) out.push_back(*sample);
  return out;
}

}  // namespace tilewright::tune
