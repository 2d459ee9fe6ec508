// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "te/tensor.h"

namespace tilewright::graph {

/// A node's tensor expression by itself, for passes that ask what it reads and what it costs.
struct Definition {
  std::vector<std::optional<te::Tensor>> inputs;  // placeholders; none for missing ones
  std::vector<te::Tensor> results;
  std::vector<te::Stage> stages;  // behind the results, each once
};
/// Nothing for operators in another form. The graph may get symbols that the definition asks for.
std::optional<Definition> definition_of(Graph& graph, const Node& node);

/// Does each element of the only result follow from the elements at the same place, with dimensions
/// of extent 1 and missing ones repeated?
bool is_pointwise(Graph& graph, const Node& node);

/// Does it only put dimensions into another order, take one place of some, or repeat places, the
/// last one staying the last?
bool permutes_rows(Graph& graph, const Node& node);
/// Does a product sum over the last dimension of this input, and walk along its others?
bool sums_rows_of(Graph& graph, const Node& node, size_t input);

/// What computing a node costs, in units of one addition. Symbols count with a likely value.
struct NodeCost {
  double per_element = 0;     // of the first result
  std::vector<double> reads;  // by input: how often an element of it is read
};
NodeCost cost_of(Graph& graph, const Node& node);

/// A formula with a likely value for every symbol.
double estimate(Graph& graph, const Dim& dim);
double estimate_elements(Graph& graph, const Shape& shape);

}  // namespace tilewright::graph
