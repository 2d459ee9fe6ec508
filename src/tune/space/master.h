// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"
#include "tune/space/space.h"

namespace tilewright::tune {

/// The space of any kernel on a CPU, found from its blocks alone; a kernel as choose_schedule takes
/// it, whose schedules are for `canonical(blocks)`. Reductions get tiles of registers and of
/// caches, an order of loops, operands in panels, vectors, unrolling, threads, and places for the
/// stages before and after them; other stages get vectors, groups of stages that run along the same
/// rows a number of rows. What is not understood stays as it is: a space of one point.
Space cpu_space(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                const std::vector<std::string>& constants = {});

}  // namespace tilewright::tune
