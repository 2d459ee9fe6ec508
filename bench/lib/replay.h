// SPDX-License-Identifier: Apache-2.0
// What the memory of a machine allows the kernels of a model: the same bytes in the same order at
// the same times, read by the plainest loop. Rates of caches would not tell: what a cache that
// other processors share holds after some milliseconds is their business, too.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

/// Memory that a step of a model touches, as places in one address space of all values.
struct Touch {
  int64_t begin = 0, bytes = 0;
  double times = 1;  // a recurrence reads its weights at every time
};

struct ReplayStep {
  std::vector<Touch> touches;
  double seconds = 0;  // from its begin to that of the next one
};

/// By step, the seconds (20 % quantile) that loads of all that it touches take, while the steps run
/// again and again for `limit` seconds, but at least `runs` times.
std::vector<double> replay(const std::vector<ReplayStep>& steps, int runs, double limit);

}  // namespace bench
