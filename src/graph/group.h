// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/op_def.h"

namespace tilewright::graph {

/// A fused group: one kernel. Its only body has no inputs, reads the values around it directly, and
/// makes the node's outputs under their own names:
///   %y: f32[8] = group(%a, %b) conv_relu() {
///     %t: f32[8] = add(%a, %b)
///     %y: f32[8] = relu(%t)
///     return %y
///   }
const OpDef& group_op();

}  // namespace tilewright::graph
