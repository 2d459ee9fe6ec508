// SPDX-License-Identifier: Apache-2.0
// The kernels of a compiled model as tasks, and their times where they belong: in the model.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "driver/model.h"
#include "driver/roofs.h"
#include "driver/run_model.h"
#include "tune/measure/task.h"

namespace tilewright::driver {

/// A compiled model that is ready to run, and knows which instruction calls which kernel.
class TimedModel {
 public:
  TimedModel(const graph::Graph& model, const ModelOptions& options, int threads,
             const std::vector<frontend::NamedTensor>& inputs);

  const std::vector<BuiltKernel>& kernels() const { return compiled_.kernels.kernels; }
  LoadedModule& module() { return module_; }

  /// Seconds of one run.
  double run();
  /// Seconds of every kernel in one run, by its number.
  std::vector<double> run_observed();

  /// Calls of each kernel in a run, and the values of its symbols in the first of them.
  struct Calls {
    int count = 0;
    std::vector<int64_t> symbols;  // empty: not known before the run
  };
  const std::vector<Calls>& calls() const { return calls_; }
  /// That its values lie in, and what kernels compute on the way.
  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  CompiledModel compiled_;
  LoadedModule module_;
  std::map<uint32_t, size_t> kernel_of_;  // by instruction
  std::vector<Calls> calls_;
  int64_t arena_bytes_ = 0, workspace_bytes_ = 0;
};

/// A kernel of the model to tune.
struct ModelTask {
  std::shared_ptr<const tune::Task> task;
  std::vector<size_t> kernels;  // that are the same for a schedule
  double seconds = 0;           // of all calls in one run
  double roof_seconds = 0;      // that the machine needs for them at least; 0: not known
  int calls = 0;
};
/// Every kernel that matters, the most expensive first. Takes some runs.
std::vector<ModelTask> tasks_of(TimedModel& model, const ir::TargetSpec& target,
                                const Roofs& roofs);

}  // namespace tilewright::driver
