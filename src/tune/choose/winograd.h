// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"

namespace tilewright::tune {

/// The stages of ops/winograd.cpp, with their channels in blocks: patches and tiles in registers
/// with channels as lanes, the products as contractions, the transformed weights in a nest that
/// `prepack` takes out. Where the patches of all tiles of an image do not fit the second cache, but
/// those of some rows and the weights do, some rows of tiles at a time go from the input to the
/// result. False, and nothing done, when there are no such stages.
bool schedule_winograd(schedule::Schedule& s, const ir::TargetSpec& spec,
                       const std::vector<std::string>& constants, Choices& choices);

/// Are there no such stages, or stages that schedule_winograd can do?
bool winograd_fits(const ir::LoopFunc& func, const ir::TargetSpec& spec);

}  // namespace tilewright::tune
