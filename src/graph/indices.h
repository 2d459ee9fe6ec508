// SPDX-License-Identifier: Apache-2.0
// Indices that a tensor holds, of operators that have OpDef::indexed.
#pragma once

#include "graph/call.h"

namespace tilewright::graph {

/// -extent <= index < extent
ir::Expr in_range(const Dim& index, const Dim& extent);

/// Are the indices constants that are in range, whatever the sizes turn out to be?
bool has_right_indices(const Call& call, const std::vector<Dim>& extents);

}  // namespace tilewright::graph
