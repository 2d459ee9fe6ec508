// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.h"

namespace tilewright::graph {

/// Puts constants in the place of symbols that are read from constants, or follow from such, in all
/// types, elements, formulas and checks. A value whose elements become constants gets them as its
/// content. Returns whether a value did. An Error when a check of the main function cannot hold.
bool settle_symbols(Graph& graph);

}  // namespace tilewright::graph
