// SPDX-License-Identifier: Apache-2.0
#include "ops/old_broadcast.h"

#include "ops/ops.h"
#include "ops/view.h"
#include "support/str.h"

namespace tilewright::ops {

using namespace graph;

ValueId with_ones(Builder& g, ValueId value, size_t count) {
  if (count == 0) return value;
  std::vector<int64_t> shape(static_cast<size_t>(g.tensor(value).rank()), 0);  // 0: as it is
  shape.insert(shape.end(), count, 1);
  return g.call(op("reshape"), ReshapeAttrs{}, {value, g.ints(shape)});
}

ValueId second_input(const OnnxNode& n, Builder& g) {
  const ValueId second = n.need(1);
  if (n.opset >= 7 || !n.attr_int("broadcast", 0) || !n.has_attr("axis")) return second;
  const int rank = g.tensor(n.need(0)).rank(), own = g.tensor(second).rank();
  const int64_t axis = n.attr_int("axis"), first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first + own > rank)
    n.refuse("ops.broadcast.axis",
             str("input 1 has ", own, " dimensions and does not fit into ", rank, " at ", axis),
             "name an axis at which it fits");
  return with_ones(g, second, static_cast<size_t>(rank - own - first));
}

}  // namespace tilewright::ops
