// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/func.h"

namespace tilewright::driver {

/// Floating-point operations of a function of stage `loops` as its blocks state them: additions,
/// subtractions, multiplications, divisions, minima and maxima; a function such as `exp` is one.
/// Nothing when a loop's extent is not known from the symbols' values.
std::optional<double> float_operations(const ir::LoopFunc& blocks,
                                       const std::vector<std::optional<int64_t>>& symbols);

}  // namespace tilewright::driver
