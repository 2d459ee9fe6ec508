// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/model_tasks.h"
#include "driver/tune.h"

namespace tilewright::driver {

using Traces = std::map<std::string, std::string>;  // by workload
/// What may be faster than the default schedule, the fastest alone first.
struct Candidate {
  std::string trace;
  bool sure = false;  // alone, beyond doubt
};
using Candidates = std::map<std::string, std::vector<Candidate>>;  // by workload

/// How tuned kernels do in the whole model.
struct ContextResult {
  Traces kept;                                    // those that help there
  std::map<std::string, tune::Estimate> kernels;  // time over untuned of each that was tried, both
                                                  // as quiet runs have them
  tune::Estimate whole{1, 1, 1};                  // of the model with what is kept
  std::string problem;  // why nothing is kept; empty when something may be
};

/// Builds the model with the first candidate of each kernel, then with the second, and so on while
/// there is time, and runs each build and an untuned one in turn, for about `seconds` in all, and
/// up to twice that where the whole stays unclear. What is fastest there counts: data lies
/// elsewhere than in a trial. A kernel that is not faster, in rounds that did not choose between
/// its candidates, goes back to the default schedule. A build whose results differ does not count.
ContextResult in_context(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
                         const std::vector<ModelTask>& tasks, const Candidates& candidates,
                         double seconds);

/// Keeps the traces whose kernels are faster in the model. When `whole`, the time of the model with
/// them over untuned, says that it is not, those go that may not be faster after all; the others
/// when it is slower beyond doubt.
void keep_what_helps(ContextResult& result, const Traces& traces,
                     const std::function<tune::Estimate(const Traces&)>& whole);

}  // namespace tilewright::driver
