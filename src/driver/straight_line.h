// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/build_kernels.h"

namespace tilewright::driver {

/// Throws Error, naming the node and the remedy, when the model is more than one fixed sequence of
/// kernels on tensors of constant shape.
void require_straight_line(const graph::Graph& graph, const BuiltKernels& kernels);

}  // namespace tilewright::driver
