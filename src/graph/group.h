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

/// The inputs of a group whose memory its only result could take over when nobody reads them later:
/// each of its elements is read only for the element of the result at the same place.
std::vector<ValueId> in_place_inputs(Graph& graph, const Node& group);

}  // namespace tilewright::graph
