// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tune/model/features.h"
#include "tune/model/trees.h"

namespace tilewright::tune {

/// One measured program of a task, as the model learns from it.
struct Sample {
  Features features{};
  double seconds = 0;  // not finite: it failed, and ranks last
  uint64_t task = 0;   // times are compared inside of one task only
};

/// Ranks programs: boosted trees that learn, by pairs of one task, what the analytic model gets
/// wrong. Before it has learnt anything it is the analytic model. There are several sets of trees:
/// where they differ, nothing like it was measured. It follows from its samples, and those from
/// records, which are what is kept of it.
class CostModel {
 public:
  /// Adds samples and fits the trees anew. The same samples in the same order give the same trees.
  void learn(std::span<const Sample> samples);
  /// The higher, the faster the program; comparable inside of one task.
  std::vector<double> scores(std::span<const Features> programs) const;
  double score(const Features& program) const { return scores({&program, 1})[0]; }
  /// The same, and how far the sets of trees are apart (a standard deviation).
  struct Guess {
    double score = 0, doubt = 0;
  };
  std::vector<Guess> guesses(std::span<const Features> programs) const;
  /// The leaf of every tree that a program falls into, one row for each. Programs that share many
  /// are alike as far as times go. Rows are empty before anything was learnt.
  std::vector<std::vector<float>> leaves(std::span<const Features> programs) const;

  const std::vector<Sample>& samples() const { return samples_; }
  /// Is there more than the analytic model?
  bool has_learnt() const { return !trees_.empty(); }

 private:
  void fit();

  std::vector<Sample> samples_;
  std::vector<Trees> trees_;
};

/// Of the pairs of samples of one task that differ by more than `margin` of their time: the share
/// that the model puts in the right order. 1 when there are none.
double pairwise_accuracy(const CostModel& model, std::span<const Sample> samples,
                         double margin = 0.03);

}  // namespace tilewright::tune
