// SPDX-License-Identifier: Apache-2.0
// Vectors and threads of single stages.
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {

/// Operations below which a second thread does not pay.
inline constexpr double kTaskWork = 20'000;

/// Lanes of a vector of the widest element that the stage touches; 1 when an element is smaller
/// than a byte.
int64_t lanes_of(const Stage& stage, const ir::TargetSpec& spec);

/// A stage that computes each element by itself, as vectors over its contiguous dimension, as many
/// of them beside each other as fit its operations.
void schedule_map(schedule::Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                  Choices& choices);
inline void schedule_map(schedule::Schedule& s, const std::string& name,
                         const ir::TargetSpec& spec) {
  Choices by_model;
  schedule_map(s, name, spec, by_model);
}
/// A reduction alone in its loops: vectors over results where they are contiguous, else partial
/// results in lanes.
void schedule_reduction(schedule::Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                        const std::vector<std::string>& constants, Choices& choices);

/// Lets the outermost of these perfectly nested loops run in parallel, as many of them as it takes
/// to occupy the machine, when `work` operations are enough for that.
void run_parallel(schedule::Schedule& s, const std::string& block, size_t spatial_loops,
                  double work, const ir::TargetSpec& spec);

}  // namespace tilewright::tune
