// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "graph/onnx_node.h"
#include "graph/op_def.h"

namespace tilewright::ops {

/// Host operators on tensors of strings.
std::span<const graph::OpDef> string_ops();

/// Imports a node that does with strings what its operator does with numbers: comparisons, casts,
/// and operators that only move elements. False: it is no such node, and its rule stands.
///   before   y = Transpose(s)
///   after    y = string_take(s, Transpose(0 … n - 1 in the shape of s))
bool import_on_strings(const graph::OnnxNode& node, graph::Builder& g);

}  // namespace tilewright::ops
