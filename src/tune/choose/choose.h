// SPDX-License-Identifier: Apache-2.0
// The default schedule of a kernel, found from the structure of its blocks and a model of the
// machine; nothing is measured and there is no table of shapes.
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"
#include "schedule/schedule.h"

namespace tilewright::tune {

/// The schedule of one kernel, whose blocks are as lower::to_blocks makes them. Never throws for a
/// legal function: a step that is refused is left out, and what is not understood (imperative
/// loops, opaque blocks) stays as it is.
schedule::Schedule choose_schedule(const ir::LoopFunc& blocks, const ir::TargetSpec& spec);

/// The scheduled function alone.
ir::LoopFunc choose(const ir::LoopFunc& blocks, const ir::TargetSpec& spec);

}  // namespace tilewright::tune
