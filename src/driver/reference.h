// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tilewright::driver {

/// Runs a graph operator by operator with the interpreter of the loop IR: slow, obvious, and what
/// everything else is compared with. Inputs and results are in the order of the main function's;
/// a null one is the input's default.
/// With `keep`, every value that was computed is put there by its name.
std::vector<graph::Constant> run_reference(graph::Graph graph,
                                           const std::vector<graph::Constant>& inputs,
                                           std::map<std::string, graph::Constant>* keep = nullptr);

}  // namespace tilewright::driver
