// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ir/expr.h"

namespace tilewright::ir {

/// Values of variables.
using Values = std::unordered_map<const VarNode*, int64_t>;
/// The value of an index expression, or nothing when it mentions an unknown variable.
std::optional<int64_t> evaluate(const Expr& e, const Values& values);

}  // namespace tilewright::ir
