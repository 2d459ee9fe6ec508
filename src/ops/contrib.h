// SPDX-License-Identifier: Apache-2.0
// Import rules of com.microsoft that need no operators of their own.
#pragma once

#include <span>
#include <vector>

#include "graph/op_def.h"

namespace tilewright::ops {

std::vector<graph::OnnxRule> contrib_rules();
std::vector<graph::OnnxRule> attention_rules();
/// inverse, distance
std::span<const graph::OpDef> contrib_math_ops();
/// What a cache of keys and values needs: positions, update, mask.
std::span<const graph::OpDef> attention_cache_ops();

}  // namespace tilewright::ops
