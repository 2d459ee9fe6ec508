// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tune/model/features.h"

namespace tilewright::tune {

/// What trees learn from: rows in groups, which are compared inside of a group only.
struct RankedRows {
  std::vector<Features> rows;
  std::vector<float> ranks;      // higher is better
  std::vector<float> margins;    // scores to start from
  std::vector<unsigned> groups;  // sizes, in the order of the rows
};

/// Boosted trees with the rank objective, by XGBoost. The library is loaded when the first trees
/// are fitted: whoever only compiles does without. An Error says so when it is not there.
class Trees {
 public:
  /// Why the library cannot be used; empty when it can.
  static std::string why_not();
  /// The same rows and seed give the same trees; another seed sees other parts of the rows.
  static Trees fit(const RankedRows& data, int seed);
  /// What the trees add to the margins.
  std::vector<float> predict(std::span<const Features> rows) const;
  /// The leaf that each tree puts a row into, row by row.
  std::vector<float> leaves(std::span<const Features> rows) const;

  Trees();
  ~Trees();
  Trees(Trees&&) noexcept;
  Trees& operator=(Trees&&) noexcept;

 private:
  struct Booster;
  std::vector<float> ask(std::span<const Features> rows, int what) const;

  std::unique_ptr<Booster> booster_;
};

}  // namespace tilewright::tune
