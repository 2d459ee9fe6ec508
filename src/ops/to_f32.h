// SPDX-License-Identifier: Apache-2.0
// Products whose results are wider than their factors: f32 sums of bf16 or f16, plus a bias in f32.
// Otherwise, and in their attributes, they are the operators without `_to_f32`.
#pragma once

#include "graph/op_def.h"

namespace tilewright::ops {

const graph::OpDef& conv_to_f32_op();
const graph::OpDef& matmul_to_f32_op();

/// Inputs 0 and 1 are of one narrow float type, input 1 also f32 where weights may be wide; the
/// bias, if there is one, is f32.
void need_narrow_factors(const graph::Call& call, bool wide_weights = false);

}  // namespace tilewright::ops
