// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_cost.h"

#include "driver/build_kernels.h"
#include "tune/choose/estimate.h"

namespace tilewright::driver {

std::optional<double> KernelCost::operator()(graph::Graph& graph, const graph::Node& node) {
  try {
    KernelUse use;
    const PlainKernel kernel = plain_kernel(graph, node, use);
    const auto found = known_.find(kernel.key);
    if (found != known_.end()) return found->second;
    return known_[kernel.key] = tune::estimated_cycles(kernel.blocks, target_, kernel.constants);
  } catch (const Error&) {
    return std::nullopt;  // it cannot be laid out so
  }
}

}  // namespace tilewright::driver
