// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/target_spec.h"
#include "tune/space/space.h"

namespace tilewright::tune {

class CostModel;

/// What Strategy::Learned asks about points: the model may be shared by the tasks of one machine.
struct Guide {
  CostModel* model = nullptr;
  const ir::TargetSpec* spec = nullptr;
  std::vector<std::string> constants;  // as in choose_schedule
  uint64_t task = 0;                   // times are compared inside of one task only
};

enum class Strategy : uint8_t {
  Learned,    // annealing over the cost model, batches of points that differ
  Annealing,  // the same walk over measured times alone
  Random,
  Grid,  // in the order of candidates, evenly spread over the space
};
std::string_view name(Strategy strategy);
Strategy strategy_from_name(std::string_view name);

struct SearchOptions {
  Strategy strategy = Strategy::Learned;
  uint64_t seed = 1;
  double explore = 0.1;      // share of a batch that is random
  int chains = 8;            // of the annealing over the model
  int steps = 10;            // of each chain, for one batch: each is a schedule and its features
  int threads = 1;           // that schedule points; more only where the template allows it
  bool cold = false;         // the first batch is random, whatever the model knows already
  size_t small = 256;        // spaces up to this many points are measured completely
  size_t patience = 0;       // trials without a gain after which it is done; 0: never
  double gain = 0.01;        // less is no gain
  std::vector<Point> start;  // tried first, in the order of a model that has learnt
  size_t start_trials = SIZE_MAX;  // at most so many of them
};

/// What one measurement gave.
struct Trial {
  Point point;
  double seconds = 0;  // not finite: it failed
};

/// Decides which points of a space to measure next. Deterministic for a seed and the reports.
///   while (!search.done()) {
///     const auto batch = search.propose(16);
///     … measure …
///     search.report(trials);
///   }
class Search {
 public:
  /// `guide` is needed for Strategy::Learned only; space, model and spec must live as long.
  Search(const Space& space, SearchOptions options, Guide guide = {});
  ~Search();
  Search(Search&&) noexcept;

  /// Up to `count` legal points that were never proposed before, the most promising first. Fewer,
  /// or none, when no more are left. A point whose steps are refused is counted and left out.
  std::vector<Point> propose(size_t count);
  /// To propose next, before all others, if it is legal and new.
  void suggest(const Point& point);
  /// Measurements in any order; also of points that were not proposed (records).
  void report(const std::vector<Trial>& trials);

  /// What a point that was proposed comes to, and what the cost model says of it: the higher, the
  /// faster; 0 without a model.
  schedule::Trace trace(const Point& point) const;
  double score(const Point& point) const;

  /// Nothing is left, or patience is at its end.
  bool done() const;
  std::string why_done() const;
  /// The best so far; null before the first success.
  const Trial* best() const;
  const std::vector<Trial>& trials() const;
  /// Points whose steps were refused or that the template failed at, with the last message.
  size_t refused() const;
  const std::string& refusal() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::tune
