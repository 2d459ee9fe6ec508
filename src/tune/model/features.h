// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::tune {

/// What is said about a loop program, as numbers.
inline constexpr size_t kFeatures = 95;
using Features = std::array<float, kFeatures>;

/// What a feature is: `analytic`, `access1.reuse_in_body`.
const std::string& feature_name(size_t feature);

/// The features of a scheduled function, for a machine. The first one is the analytic model's
/// guess: the binary logarithm of seconds. Annotations, tiles, tails and reuse are those of the
/// loops; what `constants` alone decide is prepared before the run and left out.
Features features_of(const ir::LoopFunc& scheduled, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants = {});

}  // namespace tilewright::tune
