// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"
#include "tune/space/space.h"

namespace tilewright::tune {

/// What lies around the default schedule: a knob for each question that it leaves to its model of
/// the machine. The first candidates are the model's answers, so the first point is the default
/// schedule; the others follow in the model's order where it has one. `func` as Task has it.
Space nearby_space(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                   const std::vector<std::string>& constants);

/// The points of such a space that answer one question otherwise, the model's second answers first,
/// then the third, and so on.
std::vector<Point> next_best(const Space& nearby);

}  // namespace tilewright::tune
