// SPDX-License-Identifier: Apache-2.0
#include "driver/planner.h"

namespace tilewright::driver {

using namespace graph;

void Planner::check_indices(const Node& node) {
  const Value& listed = graph_.value(node.inputs[1]);
  const std::vector<Dim> extents = listed.constant ? dims(ints_of(*listed.constant))  //
                                                   : *listed.elements;
  const auto columns = static_cast<uint32_t>(extents.size());
  for (uint32_t column = 0; column < columns; ++column)
    plan_.check_indices(value(node.inputs[0]), symbols_.reg(extents[column]), column, columns,
                        node.origin.text);
  view(node);
}

}  // namespace tilewright::driver
