// SPDX-License-Identifier: Apache-2.0
// Reads the text form of graphs, by the grammar of README.md. Every mistake in the text is reported
// as an Error with its place.
#pragma once

#include <memory>
#include <string_view>

#include "graph/graph.h"

namespace tilewright::graph {

/// The operator of a name; null when there is none.
using FindOp = const OpDef* (*)(std::string_view);

Graph parse(std::shared_ptr<const Source> source, FindOp find_op);
Graph parse(std::string_view text, FindOp find_op);

}  // namespace tilewright::graph
