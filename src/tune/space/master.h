// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"
#include "tune/space/space.h"

namespace tilewright::tune {

/// The template for CPUs that fits every kernel: it finds its knobs in the blocks alone. Reductions
/// get tiles of registers and of caches, an order of loops, operands in panels, vectors, unrolling,
/// threads, and places for the stages before and after them; other stages get vectors and threads.
Template cpu_template(const ir::TargetSpec& spec, const std::vector<std::string>& constants);

/// The space of a kernel as choose_schedule takes it: schedules of `canonical(blocks)`.
Space cpu_space(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                const std::vector<std::string>& constants = {});

}  // namespace tilewright::tune
