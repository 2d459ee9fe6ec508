// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/transfer.h"
#include "tune/measure/runner.h"
#include "tune/model/cost_model.h"
#include "tune/search/search.h"

namespace tilewright::driver {

/// The search for a schedule of one kernel. It looks around the default schedule first; when that
/// gains nothing any more, in the space of all schedules that the blocks allow. The cost model sees
/// programs, not spaces: what it learns in one it knows in the other. Deterministic for a seed and
/// the reports.
class TaskTuner {
 public:
  /// `model` is shared by the tasks of a machine, `number` is that of this one; without a model
  /// walks over measured times take its place.
  TaskTuner(std::shared_ptr<const tune::Task> task, tune::CostModel* model, uint64_t seed,
            uint64_t number);

  struct Proposal {
    tune::Candidate candidate;
    std::string point;  // for a record: `nearby: s0.tile=6x4 …`
    double score = 0;   // by the cost model; the higher, the faster
  };
  /// To try before all others.
  void suggest(const Transferred& start);
  /// The same for the point that is fast for another kernel of the model, where it is one here.
  void suggest(const std::string& point) { hints_.push_back(point); }
  /// Schedules that were not tried yet, the most promising first; none when there is nothing left.
  std::vector<Proposal> propose(size_t count);
  /// What became of one, also in an earlier run.
  void report(const std::string& point, const tune::Measurement& measurement);

  bool done() const { return done_; }

 private:
  struct Part {
    tune::Space space;
    tune::Search search;
    Part(tune::Space s, const tune::SearchOptions& options, const tune::Guide& guide)
        : space(std::move(s)), search(space, options, guide) {}
  };
  enum Which : size_t { Nearby, Master };
  Part& open(size_t which);
  double score_of(const ir::LoopFunc& scheduled) const;
  /// Passes on what was reported and suggested since, where it is about this part.
  void tell(size_t which);

  std::shared_ptr<const tune::Task> task_;
  tune::CostModel* model_;
  uint64_t seed_, number_;
  std::unique_ptr<Part> parts_[2];
  struct Report {
    std::string point;
    double ratio;
  };
  std::vector<Report> untold_[2];
  std::vector<Proposal> suggested_;
  std::vector<std::string> hints_;
  bool done_ = false;
};

}  // namespace tilewright::driver
