// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/model_tasks.h"
#include "driver/tune.h"

namespace tilewright::driver {

/// How tuned kernels do in the whole model.
struct ContextResult {
  std::map<std::string, std::string> kept;        // traces that help there, by workload
  std::map<std::string, tune::Estimate> kernels;  // time over untuned of each that was tried
  tune::Estimate whole{1, 1, 1};                  // of the model with what is kept
  std::string problem;  // why nothing is kept; empty when something may be
};

/// Runs the model with these traces and without in turn, for about `seconds`. A kernel whose time
/// in the model is not less goes back to the default schedule; all do when the results of the model
/// differ, or when the whole is not faster.
ContextResult in_context(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
                         const std::vector<ModelTask>& tasks,
                         const std::map<std::string, std::string>& traces, double seconds);

}  // namespace tilewright::driver
