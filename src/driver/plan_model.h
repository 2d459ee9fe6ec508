// SPDX-License-Identifier: Apache-2.0
// Grouped graph + kernels → the module's plan: which kernel is called with which memory, and how
// sizes follow from the inputs.
#pragma once

#include "driver/build_kernels.h"
#include "module/module.h"

namespace tilewright::driver {

/// Adds one variant with its kernels' entries and its plan to the module, and what that needs of
/// constants; with the first one also the ports. `image` is the linked code of the kernels. Gives
/// the kernels that the plan calls, in its order. Without `share_memory` every value has a
/// place of its own in the arena.
std::vector<KernelCall> plan_model(const graph::Graph& graph, const BuiltKernels& kernels,
                                   CodeImage image, const ir::TargetSpec& target, Module& module,
                                   bool share_memory = true);

}  // namespace tilewright::driver
