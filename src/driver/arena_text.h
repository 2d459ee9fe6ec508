// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/plan_arena.h"

namespace tilewright::driver {

/// What the arena takes at likely sizes, a line for each, for someone who wonders:
///   "19.268 MB where batch = 1, height = 224: batch * height * height * 384"
/// The formula is of what lies one over the other at the highest place.
/// Empty where no size is free.
std::vector<std::string> arena_texts(const graph::Graph& graph, const std::vector<ArenaItem>& items,
                                     const graph::MemoryPlan& places);

}  // namespace tilewright::driver
