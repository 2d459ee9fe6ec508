// SPDX-License-Identifier: Apache-2.0
// The kernels of a model where they stand: with the caches as the kernels before them leave them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "frontend/npz.h"
#include "tilewright/runtime.hpp"

namespace bench {

struct KernelTime {
  double seconds = 0;  // of all calls in one run
  int calls = 0;       // in one run
  int pieces = 0;      // that it was cut into
  int clean = 0;       // slices of the piece that had the fewest
};

struct KernelTimes {
  std::map<int32_t, KernelTime> kernels;  // by the plan's instruction
  double fma_rate = 0;                    // FLOP/s of the canary in its clean runs
  int runs = 0;
};

/// Runs the module on one thread until every piece has `wanted` clean slices, or for `limit`
/// seconds. A canary of FMAs on registers runs between any two kernels; a time counts only when
/// those before and after it were clean. The parallel loops of long kernels are cut into pieces
/// that are slices of their own; a piece's time is the 20 % quantile of its slices, a kernel's the
/// sum over its pieces and what lies outside of its loops. Canaries slow down what streams through
/// memory (a product with a vector of 100 us takes 170 between them), so the model runs without
/// them, too: the 20 % quantile of a kernel's calls there counts where it is less.
KernelTimes time_kernels(tw::Module& module, const std::vector<tilewright::graph::Constant>& inputs,
                         int wanted, double limit);

}  // namespace bench
