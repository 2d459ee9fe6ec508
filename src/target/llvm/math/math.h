// SPDX-License-Identifier: Apache-2.0
// Functions of floats, inline and for all lanes: no call leaves the kernel. Within 2 ulp over all
// f32 inputs (pow and atan2 4), with IEEE results for zeros, infinities, NaN and subnormals;
// bench/ulp_check.cpp measures them over all inputs.
#pragma once

#include <vector>

#include "ir/ops.h"
#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// fn(args…) of element type `elem`; IsNan and IsInf give i1 lanes.
ll::Value* float_call(Lanes& b, ir::MathFn fn, ir::Elem elem, const std::vector<ll::Value*>& args);

}  // namespace tilewright::target::llvm
