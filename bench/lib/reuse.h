// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

/// Memory that a step of a model touches, as places in one address space of all values.
struct Touch {
  int64_t begin = 0, bytes = 0;
  double times = 1;  // a recurrence reads its weights at every time
};

/// How far back the bytes of a step were touched last: `bytes` of them had this much other memory
/// touched since, themselves included.
struct Reuse {
  double bytes = 0;
  double distance = 0;
};

/// For steps that run in this order again and again: by step, its bytes with the distances at which
/// they are found in a cache that forgets what was not used the longest.
std::vector<std::vector<Reuse>> reuse_of(const std::vector<std::vector<Touch>>& steps);

}  // namespace bench
