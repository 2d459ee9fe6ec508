// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/func.h"

namespace tilewright::driver {

/// What a function of stage `loops` does, as its blocks state it.
struct KernelWork {
  /// Additions, subtractions, multiplications, divisions, minima and maxima of floating-point
  /// numbers; a function such as `exp` is one.
  double flops = 0;
  std::vector<double> loads;  // by parameter: elements read, each as often as it is
};

/// Nothing when a loop's extent is not known from the symbols' values.
std::optional<KernelWork> work_of(const ir::LoopFunc& blocks,
                                  const std::vector<std::optional<int64_t>>& symbols);

}  // namespace tilewright::driver
