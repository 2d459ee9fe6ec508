// SPDX-License-Identifier: Apache-2.0
#include "ir/operand.h"

#include "ir/build.h"

namespace tilewright::ir {

std::optional<std::vector<size_t>> operand_dims(const Region& region, const BufferNode& operand) {
  std::vector<size_t> dims(operand.shape.size());
  size_t o = dims.size();
  for (size_t r = region.ranges.size(); r-- > 0;) {
    const auto extent = const_int(region.ranges[r].extent);
    if (o > 0 && extent && extent == const_int(operand.shape[o - 1]))
      dims[--o] = r;
    else if (extent != 1)
      return std::nullopt;
  }
  return o == 0 ? std::optional(dims) : std::nullopt;
}

std::vector<Expr> physical_extents(const BufferNode& buffer) {
  if (!buffer.layout) return buffer.shape;
  std::vector<Expr> out;
  for (const PhysDim& dim : buffer.layout->dims) out.push_back(dim.extent);
  return out;
}

bool is_contiguous(const BufferNode& operand, const std::vector<Expr>& strides) {
  const std::vector<Expr> extents = physical_extents(operand);
  int64_t wanted = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    const int64_t extent = const_int(extents[d]).value_or(0);
    if (extent == 1) continue;
    if (const_int(strides[d]) != wanted) return false;
    wanted *= extent;
  }
  return true;
}

}  // namespace tilewright::ir
