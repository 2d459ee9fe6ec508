// SPDX-License-Identifier: Apache-2.0
#include "graph/layout.h"

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::graph {

ir::Layout channel_blocks(const Shape& shape, int64_t size) {
  ir::LayoutNode out;
  for (size_t d = 0; d < shape.size(); ++d) {
    out.indices.emplace_back(str("i", d));
    const ir::Expr at = out.indices.back();
    const ir::PhysDim dim{ir::PhysKind::Address, d == 1 ? at / size : at,
                          d == 1 ? simplified(shape[d] / size) : shape[d]};
    out.dims.push_back(dim);
  }
  out.dims.push_back({ir::PhysKind::Address, out.indices.at(1) % size, size});
  return ir::Layout(std::make_shared<const ir::LayoutNode>(std::move(out)));
}

int64_t channel_block(const TensorType& type) {
  if (!type.layout) return 0;
  const auto size = ir::const_int(type.layout->dims.back().extent);
  require(size.has_value(), "a layout other than blocks of channels");
  return *size;
}

}  // namespace tilewright::graph
