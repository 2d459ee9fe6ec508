// SPDX-License-Identifier: Apache-2.0
// The analytic terms of a scheduled program: cycles of its units, and bytes between its caches.
#pragma once

#include "tune/model/leaves.h"

namespace tilewright::tune {

/// One leaf on one core, for all of its runs.
struct LeafCost {
  size_t body = 0;          // the first loop of those that are written out: what stands in the code
  double vectors = 1;       // vectors of results that the body computes
  double lanes_used = 1;    // share of a vector that does work
  double accumulators = 0;  // vectors that stay in registers
  double loads = 0;         // loads and stores of the body, a part of those before it with them
  double compute = 0;       // cycles of arithmetic
  double latency = 0;       // cycles of waiting for sums
  double loading = 0;       // cycles of loads and stores
  double overhead = 0;      // cycles of loops
  double traffic[3] = {};   // bytes into the first, second and third cache
  double moving = 0;        // cycles of the slowest of them
  double tasks = 1;         // iterations that may run in parallel
  size_t fits[3] = {};      // the outermost loop whose data each cache holds

  double cycles() const;
};

LeafCost cost_of(const Leaf& leaf, const ir::TargetSpec& spec);

/// Seconds of all leaves on the cores of the machine.
double analytic_seconds(const std::vector<Leaf>& leaves, const std::vector<LeafCost>& costs,
                        const ir::TargetSpec& spec);

}  // namespace tilewright::tune
