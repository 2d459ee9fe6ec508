// SPDX-License-Identifier: Apache-2.0
#include "lower/physical.h"

#include <algorithm>

#include "lower/lanes.h"

namespace tilewright::lower {

using namespace ir;

std::vector<Expr> physical_indices(const BufferNode& buffer, const std::vector<Expr>& indices,
                                   int64_t replica) {
  if (!buffer.layout) return indices;
  const LayoutNode& layout = *buffer.layout;
  Widening w;
  for (size_t i = 0; i < indices.size(); ++i) {
    w.vectors[layout.indices[i]] = indices[i];
    w.lanes = std::max(w.lanes, indices[i].type().lanes);
  }
  if (layout.replica) w.vectors[layout.replica] = replica;
  std::vector<Expr> out;
  for (const PhysDim& dim : layout.dims) out.push_back(widen(dim.index, w));
  return out;
}

Expr strided(const Expr& start, const std::vector<Expr>& indices,
             const std::vector<Expr>& strides) {
  Expr at = start;
  for (size_t d = 0; d < indices.size(); ++d)
    at = lane_binary(BinaryOp::Add, at, lane_binary(BinaryOp::Mul, indices[d], strides[d]));
  return at;
}

}  // namespace tilewright::lower
