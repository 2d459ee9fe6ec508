// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "graph/graph.h"
#include "ir/target_spec.h"

namespace tilewright::driver {

/// The modelled cycles of a node's kernel, for graph::Services::cycles; each kernel is looked at
/// once.
class KernelCost {
 public:
  explicit KernelCost(ir::TargetSpec target) : target_(std::move(target)) {}

  std::optional<double> operator()(graph::Graph& graph, const graph::Node& node);

 private:
  std::optional<double> of_kernel(graph::Graph& graph, const graph::Node& node);

  ir::TargetSpec target_;
  std::unordered_map<std::string, std::optional<double>> of_nodes_;
  std::map<std::string, double> known_;  // by the keys of kernels
};

}  // namespace tilewright::driver
