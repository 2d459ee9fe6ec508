// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::tune {

/// What is said about a loop program, as numbers; feature_names() says which.
inline constexpr size_t kFeatures = 96;
using Features = std::array<float, kFeatures>;

std::string_view feature_name(size_t feature);

/// The features of a function of stage `scheduled`, for a machine. The first one is the analytic
/// model's guess: the logarithm of seconds.
Features features_of(const ir::LoopFunc& scheduled, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants = {});

}  // namespace tilewright::tune
