// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "graph/op_def.h"

namespace tilewright::ops {

/// find_key (x, keys), choose_value (numbers, values, otherwise); and the import rules of
/// ai.onnx.ml that are made of others.
std::span<const graph::OpDef> ml_ops();

const graph::OpDef& svm_kernel_op();

}  // namespace tilewright::ops
