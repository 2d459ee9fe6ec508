// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/interpret/random.h"
#include "tune/measure/runner.h"

namespace tilewright::driver {

/// The search for a schedule of one task, from the default one on: numbers of its splits are
/// changed at random, and what is faster is changed further. Deterministic for a seed and the
/// reports.
class TaskSearch {
 public:
  TaskSearch(std::shared_ptr<const tune::Task> task, uint64_t seed);

  /// Schedules that were not tried yet; none when there is nothing left.
  std::vector<tune::Candidate> propose(size_t count);
  /// What became of one of them, or of one of an earlier run.
  void report(const schedule::Trace& trace, const tune::Measurement& measurement);

  bool done() const { return done_; }

 private:
  std::optional<schedule::Trace> mutated(const schedule::Trace& trace);

  std::shared_ptr<const tune::Task> task_;
  ir::Random random_;
  schedule::Trace best_;
  double best_ratio_ = 1;
  std::set<std::string> tried_;
  bool done_ = false;
};

}  // namespace tilewright::driver
