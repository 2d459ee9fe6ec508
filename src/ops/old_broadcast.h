// SPDX-License-Identifier: Apache-2.0
// Broadcasting before opset 7: the second input stands at a dimension that an attribute names.
#pragma once

#include "graph/builder.h"
#include "graph/onnx_node.h"

namespace tilewright::ops {

/// Input 1 with dimensions of extent 1 behind its own, so that it broadcasts as NumPy does:
///   A: [2, 3, 4, 5], B: [3, 4], axis = 1  ->  B: [3, 4, 1]
/// From opset 7 on, input 1 as it is.
graph::ValueId second_input(const graph::OnnxNode& node, graph::Builder& g);

/// `value` with `count` further dimensions of extent 1 at its end.
graph::ValueId with_ones(graph::Builder& g, graph::ValueId value, size_t count);

}  // namespace tilewright::ops
