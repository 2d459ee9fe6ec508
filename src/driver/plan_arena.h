// SPDX-License-Identifier: Apache-2.0
// Places in the arena for values whose sizes are formulas of the input dimensions, so that one plan
// serves every size.
#pragma once

#include <optional>
#include <vector>

#include "arith/context.h"
#include "graph/graph.h"
#include "graph/memory.h"

namespace tilewright::driver {

/// The largest values of formulas over the symbols that the inputs tell, within their ranges.
class SizeBounds {
 public:
  explicit SizeBounds(const graph::Graph& graph);
  /// Nothing when the declared ranges give no bound that memory could hold.
  std::optional<int64_t> most(const ir::Expr& formula) const;

 private:
  arith::Context context_;
};

struct ArenaItem {
  graph::ValueId value = graph::kNoValue;
  ir::Expr bytes;
  int first = 0, last = 0;  // nodes that use it
};

struct ArenaPlan {
  graph::MemoryPlan places;  // offsets and bytes of the sizes that it was made for
  int64_t most = 0;          // bytes that are enough for every size; 0: not bounded
  // Of the sizes that were looked at, those for which it wastes most: the arena, and what lives at
  // once in it.
  int64_t worst_bytes = 0, worst_live_bytes = 0;
};

/// Of the plans made for several sizes, the one that is best for the worst of them.
ArenaPlan plan_arena(const graph::Graph& graph, const std::vector<ArenaItem>& items);

}  // namespace tilewright::driver
