// SPDX-License-Identifier: Apache-2.0
#include "graph/indices.h"

#include <algorithm>

namespace tilewright::graph {

ir::Expr in_range(const Dim& index, const Dim& extent) {
  return ir::logical_and(-extent <= index, index < extent);
}

bool has_right_indices(const Call& call, const std::vector<Dim>& extents) {
  const ConstantNode* indices = call.constant(1);
  if (!indices) return false;
  const int64_t count = indices->count();
  for (size_t column = 0; column < extents.size() && count > 0; ++column) {
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (auto i = static_cast<int64_t>(column); i < count; i += std::ssize(extents)) {
      least = std::min(least, int_at(*indices, i));
      greatest = std::max(greatest, int_at(*indices, i));
    }
    for (const int64_t index : {least, greatest})
      if (!call.proves(in_range(index, extents[column]))) return false;
  }
  return true;
}

}  // namespace tilewright::graph
