// SPDX-License-Identifier: Apache-2.0
// Tuning a model: its kernels are tried with other schedules, the time goes where the model has
// most to gain, and what helps in the whole model is kept.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "driver/model.h"
#include "frontend/npz.h"
#include "tune/measure/runner.h"

namespace tilewright::driver {

/// How far it is.
struct TuneProgress {
  std::string task;                // the kernel being tried
  tune::Estimate best;             // its best so far, as time over that of the default schedule
  int64_t trials = 0, failed = 0;  // of all kernels, in this run
  double gain = 1;                 // of the whole model, by the kernels' times
  double seconds = 0, budget = 0;
};

struct TuneOptions {
  ModelOptions model;
  std::string records;                        // the file; made when it is not there
  double seconds = 60;                        // in all
  int64_t trials = 0;                         // at most; 0: as many as there is time for
  int threads = 1;                            // of the kernels
  uint64_t seed = 1;                          // of the search
  std::vector<frontend::NamedTensor> inputs;  // none: seeded random ones
  std::function<void(const TuneProgress&)> progress;
  const std::atomic<bool>* stop = nullptr;  // the user wants it to end
};

struct TuneReport {
  struct Kernel {
    std::string name;
    double share = 0;                // of the model's time, untuned
    int64_t trials = 0, failed = 0;  // also those of earlier runs
    tune::Estimate best{1, 1, 1};    // measured alone
    tune::Estimate in_model{1, 1, 1};
    std::vector<double> curve;  // the best ratio after each trial of this run
    size_t starts = 0;          // schedules of near records that it began with
    double roof = 0;            // share of what the machine allows that it reaches untuned; 0: ?
    std::string outcome;        // tuned, or why not
    bool tuned = false;
  };
  std::vector<Kernel> kernels;  // the most expensive first
  int64_t trials = 0, failed = 0;
  double seconds = 0, searching = 0;  // in all, and of it for trials
  double before_ms = 0;               // of a run, untuned
  tune::Estimate whole{1, 1, 1};      // time of the tuned model over that
  std::string no_model;               // why nothing was learnt: no library for it
  size_t learnt_before = 0;           // programs of other kernels' records
  // Of the pairs of a batch whose intervals do not overlap, those that the cost model had in the
  // right order before it saw them; by batch.
  struct Ranked {
    int64_t pairs = 0, right = 0;
  };
  std::vector<Ranked> ranked;
  bool interrupted = false;
};

/// `90s`, `3min`, `1h`, `500trials`.
struct TuneBudget {
  double seconds = 0;
  int64_t trials = 0;  // 0: any number
};
TuneBudget parse_budget(const std::string& text);

TuneReport tune_model(const graph::Graph& model, const TuneOptions& options);
std::string print(const TuneReport& report);
/// One page that needs nothing else: curves, ranks, roofs.
std::string html(const TuneReport& report, const std::string& model);

}  // namespace tilewright::driver
