// SPDX-License-Identifier: Apache-2.0
// What rewrites of stages share that move elements: concat, pad, tile.
#pragma once

#include <set>

#include "tune/choose/stage.h"

namespace tilewright::tune {

/// Is the stage a map of one result?
bool is_single_store(const Stage& stage);
/// Does such a one store each of its iterators as an index, in order?
bool stores_in_order(const Stage& stage);

/// Results of the function that one stage makes and nobody in it reads.
std::vector<std::string> only_written(const ir::LoopFunc& func);

/// What sums and the like make, and what follows from it. Who reads that is scheduled with what
/// makes it, as the tiles of Winograd's results are.
std::set<const ir::BufferNode*> made_together(const ir::LoopFunc& func);

/// The function with those maps that `moves` names inside of the map that reads them, when that one
/// reads each of their elements once at most.
ir::LoopFunc with_moves_inlined(const ir::LoopFunc& func, FunctionRef<bool(const Stage&)> moves);

/// A stage `buffer[indices] = value` over these iterators, each bound to the loop of its number.
ir::Stmt map_nest(const Stage& like, const std::string& name, std::vector<ir::BlockIter> iters,
                  const std::vector<ir::Var>& loops, const ir::Buffer& buffer,
                  std::vector<ir::Expr> indices, const ir::Expr& value);

}  // namespace tilewright::tune
