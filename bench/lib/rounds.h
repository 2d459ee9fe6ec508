// SPDX-License-Identifier: Apache-2.0
// Several things timed against each other in the same rounds, each on quiet slices only.
#pragma once

#include <functional>
#include <limits>
#include <vector>

namespace bench {

struct Contender {
  std::function<void()> call;
  /// Of one call: 20 % quantile over the clean slices; infinite without any.
  double seconds = std::numeric_limits<double>::infinity();
  double spread = 0;  // 80 % quantile over the 20 % one
  int clean = 0;      // slices kept
  int slices = 0;     // slices taken
};

/// Every round times each contender once, for some 50 µs of calls between two runs of the canary;
/// a slice counts when both canaries were clean. The call before a slice warms the caches. Goes on
/// until each has `wanted` clean slices, or for `limit` seconds.
void measure_rounds(std::vector<Contender>& contenders, const std::function<void()>& canary,
                    int wanted, double limit);

}  // namespace bench
