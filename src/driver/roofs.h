// SPDX-License-Identifier: Apache-2.0
// What this machine could do at best, measured: kernels are compared with it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/target_spec.h"

namespace tilewright::driver {

struct Roofs {
  double flops = 0;  // f32 operations a second, by FMAs on registers only; an FMA counts as two
  struct Memory {
    int64_t bytes;  // up to so many touched
    double rate;    // read, or read and written, a second: the better of the two
  };
  std::vector<Memory> memory;  // the fastest first; the last holds for all others

  /// The seconds that so much work takes at least.
  double seconds(double flops, double bytes) const;
  bool compute_bound(double flops, double bytes) const;
};

/// Takes about half a second with all of the threads busy.
Roofs measure_roofs(int threads);

/// What the models of costs are to know of this machine; takes about a fifth of a second.
ir::Rates measure_rates();

}  // namespace tilewright::driver
