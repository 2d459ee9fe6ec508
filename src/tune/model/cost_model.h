// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tune/model/features.h"

namespace tilewright::tune {

/// One measured program of a task, as the model learns from it.
struct Sample {
  Features features;
  double seconds = 0;  // not finite: it failed, and ranks last
  uint64_t task = 0;   // times are compared inside of one task only
};

/// Ranks programs: boosted trees that learn, by pairs of one task, what the analytic model gets
/// wrong. Before it has learnt anything it is the analytic model.
class CostModel {
 public:
  CostModel();
  ~CostModel();
  CostModel(CostModel&&) noexcept;
  CostModel& operator=(CostModel&&) noexcept;

  /// Adds samples and fits the trees anew. The same samples in the same order give the same trees.
  void learn(std::span<const Sample> samples);
  /// The higher, the faster the program; comparable inside of one task.
  std::vector<double> scores(std::span<const Features> programs) const;
  double score(const Features& program) const;

  const std::vector<Sample>& samples() const;

  /// Samples and trees, in one file; an Error says why a file cannot be read: not such a file,
  /// damaged, or of other features.
  void save(const std::filesystem::path& path) const;
  static CostModel load(const std::filesystem::path& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::tune
