// SPDX-License-Identifier: Apache-2.0
// What was made of a model, and why: kernels, layouts, memory, times and roofs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/model.h"
#include "driver/plan_steps.h"
#include "driver/roofs.h"
#include "frontend/npz.h"

namespace tilewright::driver {

struct Explanation {
  /// An operator of the graph that a kernel computes.
  struct Member {
    std::string op, value, origin;  // what it is, makes, and comes from
  };
  struct Step {
    PlanStep plan;
    std::vector<Member> members;       // none for host operators, and where there is only a module
    std::vector<std::string> reasons;  // why these members are one kernel, and no others
    std::vector<std::string> layouts;  // of packed constants and of results, and why
    std::string plain;                 // why it has no schedule; empty when it has one
    ScheduleOrigin origin = ScheduleOrigin::Untuned;  // of its schedule
    std::string tuned;                                // what tuning has found; empty: it is untuned
    std::string refused;                              // why what it has found is not used
    int calls = 0;                                    // in one run
    double ms = 0;                                    // of all calls in the median run
    std::optional<double> flops;                      // of one call
    std::vector<double> read_bytes;  // of one call by plan.reads: no more than it can read
    std::optional<double> bytes;     // of one call, each value once
    std::optional<double> roof_ms;   // what the machine would take for them, at least
    bool compute_bound = false;
  };
  std::string model;
  std::vector<Step> steps;
  std::vector<PlannedValue> values;
  std::vector<std::string> names;  // of the values
  int64_t arena_bytes = 0, live_bytes = 0, constant_bytes = 0;
  std::vector<std::string> arena_texts;  // what the arena takes at likely sizes
  double median_ms = 0;                  // of a run without looking at kernels
  int threads = 1;
  Roofs roofs;
};

struct ExplainOptions {
  ModelOptions model;
  std::vector<frontend::NamedTensor> inputs;  // none: seeded random ones
  int threads = 1;
  double seconds = 1;  // of measuring
};

/// Compiles and measures a model.
Explanation explain_model(const graph::Graph& model, const ExplainOptions& options);
/// Measures a `.twm` file; nothing is known of the graph.
Explanation explain_module(const std::string& path, const ExplainOptions& options);

/// The share of a step's roof that it reaches, 0 … 1.
std::optional<double> share_of_roof(const Explanation::Step& step);

/// For a terminal.
std::string print(const Explanation& e);
/// One page that needs nothing else.
std::string html(const Explanation& e);

}  // namespace tilewright::driver
