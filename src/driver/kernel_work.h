// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "driver/build_kernels.h"

namespace tilewright::driver {

/// What a function of stage `loops` does, as its blocks state it.
struct KernelWork {
  /// Additions, subtractions, multiplications, divisions, minima and maxima of floating-point
  /// numbers; a function such as `exp` counts as what computes it.
  double flops = 0;
  std::vector<double> loads;  // by parameter: elements read, each as often as it is
};

/// Nothing when a loop's extent is not known from the symbols' values. What is computed from the
/// `packed` parameters alone was done at compile time and does not count.
std::optional<KernelWork> work_of(const ir::LoopFunc& blocks,
                                  const std::vector<std::optional<int64_t>>& symbols,
                                  const std::vector<size_t>& packed = {});

/// The parameters of `kernel.blocks` that the kernel takes packed.
std::vector<size_t> packed_params(const BuiltKernel& kernel);

}  // namespace tilewright::driver
