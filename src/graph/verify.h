// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.h"

namespace tilewright::graph {

/// Throws InternalError, with the names of node and value, unless
/// - every value is made once, before it is used, inside the function or one around it; a constant,
///   or one whose elements are formulas, needs no maker;
/// - every value has a type, and the dimensions of a tensor are there;
/// - the symbols in a type are known where the value is made;
/// - names of values are unique;
/// - a default belongs to an input of the main function, of its element type and rank;
/// - a view has one result and an input, a group one body with kernels' operators that makes its
///   results.
void verify(const Graph& graph);

/// Also that every node's operator gives these types for these inputs. Slow: for tests.
void verify_types(Graph graph);

}  // namespace tilewright::graph
