// SPDX-License-Identifier: Apache-2.0
// What the classifiers and regressors of ai.onnx.ml end with.
#pragma once

#include "graph/onnx_node.h"
#include "graph/op_def.h"

namespace tilewright::ops {

/// x as f32, or f64 where it is that; a vector as one row.
graph::ValueId ml_input(graph::Builder& g, graph::ValueId x);
/// The attribute post_transform of the node applied to scores [n, classes].
graph::ValueId post_transformed(const graph::OnnxNode& n, graph::Builder& g, graph::ValueId scores,
                                std::string_view transform);
/// The labels that the node lists (`ints` and `strings` name its attributes) for indices [n].
graph::ValueId labels_of(const graph::OnnxNode& n, graph::Builder& g, graph::ValueId indices,
                         std::string_view ints, std::string_view strings);

const graph::OpDef& ml_transform_op();

}  // namespace tilewright::ops
