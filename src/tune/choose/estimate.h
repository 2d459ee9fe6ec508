// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::tune {

/// About how many cycles of one core the default schedule of a kernel takes, by the model that
/// chooses it: good for comparing forms of the same kernel. `constants` as in choose_schedule.
double estimated_cycles(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                        const std::vector<std::string>& constants);

}  // namespace tilewright::tune
