// SPDX-License-Identifier: Apache-2.0
// The default schedule of a kernel, found from the structure of its blocks and a model of the
// machine; nothing is measured and there is no table of shapes.
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"

namespace tilewright::tune {

/// The schedule of one kernel, whose blocks are as lower::to_blocks makes them: steps for the
/// function `canonical(blocks)`. Never throws for a legal function: a step that is refused is left
/// out, and what is not understood (imperative loops, opaque blocks) stays as it is. `constants`
/// are names of parameters that never change: copies of them into another layout cost nothing at
/// run time, because `prepack` takes them out.
schedule::Schedule choose_schedule(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                                   const std::vector<std::string>& constants = {});

/// The same steps for a function as it is.
void schedule_stages(schedule::Schedule& s, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants);

/// The same, where `choices` does not say otherwise.
void schedule_stages(schedule::Schedule& s, const ir::TargetSpec& spec,
                     const std::vector<std::string>& constants, Choices& choices);

/// The scheduled function, the steps of scans in it too. Its parameters have the order and the
/// bytes of those of `blocks`, but may have fewer dimensions. When `blocks` is the variant of a
/// function for certain sizes, it takes the constants as that one does.
ir::LoopFunc choose(const ir::LoopFunc& blocks, const ir::TargetSpec& spec,
                    const std::vector<std::string>& constants = {},
                    const ir::LoopFunc* variant_of = nullptr);

}  // namespace tilewright::tune
