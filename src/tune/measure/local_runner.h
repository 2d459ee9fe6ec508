// SPDX-License-Identifier: Apache-2.0
// Candidates on this machine, each in a child process of its own: whatever it does, it costs one
// trial. While one runs, others are built on the processors that it leaves free.
#pragma once

#include <atomic>
#include <functional>
#include <map>

#include "tune/measure/runner.h"
#include "tune/measure/trial.h"

namespace tilewright::tune {

class LocalRunner : public Runner {
 public:
  explicit LocalRunner(MeasureOptions options = {}, Build build = build_native);
  ~LocalRunner() override;

  std::vector<Measurement> measure(std::span<const Candidate> candidates) override;

  /// Called as each is known, before `measure` returns.
  std::function<void(const Candidate&, const Measurement&)> on_measured;
  /// While true, nothing more is tried: what is under way ends as Failed.
  const std::atomic<bool>* stop = nullptr;

 private:
  struct Job;
  const Reference& reference_for(const Candidate& candidate);
  void watch(std::vector<std::unique_ptr<Job>>& jobs);

  MeasureOptions options_;
  Build build_;
  int cpus_;
  std::shared_ptr<FarMemory> far_;
  std::map<const Task*, std::pair<std::shared_ptr<const Task>, Reference>> references_;
};

}  // namespace tilewright::tune
