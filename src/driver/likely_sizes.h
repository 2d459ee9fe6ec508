// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.h"

namespace tilewright::driver {

/// Sizes that a symbol of the graph may well have, the most likely one first, where its user has
/// said none: schedules are chosen for them, and right for all.
///   images[batch, 3, height, width]   ->   batch: 1, 4, 16; height, width: 224, 320, 75
/// Symbols that follow from others have what follows from theirs; none for one that only values
/// tell.
std::vector<int64_t> likely_sizes(const graph::Graph& graph, const ir::Symbol& symbol);

}  // namespace tilewright::driver
