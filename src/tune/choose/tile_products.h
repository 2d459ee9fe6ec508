// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/target_spec.h"
#include "schedule/schedule.h"
#include "tune/choose/choices.h"

namespace tilewright::tune {

/// A product of narrow factors by the instructions of a target with tile registers: up to four
/// tiles of sums, which the tiles of both factors are loaded for.
///   for y, x, k { C[y, x] += A[y, k] * B[k, x] }
///   ->  for x0, y0 { C_tile = 0
///         for k0 { A_tile = A[…]  B_tile = B_global[…]  C_tile += A_tile * B_tile }
///         C[…] = C_tile }
/// False, and nothing done, when the target has no such instructions, the stage is no such product,
/// or something else is chosen for it.
bool schedule_tiles(schedule::Schedule& s, const std::string& name, const ir::TargetSpec& spec,
                    const std::vector<std::string>& constants, Choices& choices);

}  // namespace tilewright::tune
