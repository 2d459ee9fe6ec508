// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace tilewright::graph {

/// The text form, by the grammar of README.md. Constants with more elements, unless all are equal,
/// are `elided`: such a text is for people and does not read back.
std::string print(const Graph& graph, int64_t max_elements);
/// `[1.0, 2.5]`, `splat 0.5`, `elided`
std::string print_content(const ConstantNode& constant, int64_t max_elements);

}  // namespace tilewright::graph
