// SPDX-License-Identifier: Apache-2.0
// Kernels of their own for chosen sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/rewrite.h"

namespace tilewright::driver {

/// Sizes that get a kernel of their own.
struct Point {
  ir::Expr when;      // over the graph's symbols: are the sizes these?
  ir::VarMap values;  // of symbols of inputs, and of all that follow from them
  std::string text;   // for people: "batch=8"
};

/// The points for a kernel with these scalars: every choice of the likely values that the symbols
/// of inputs which matter to it have. None when there are too many.
std::vector<Point> points_for(const graph::Graph& graph, const std::vector<ir::Expr>& scalars);

/// The point of one row for a kernel whose products may have so few; its values are of the kernel's
/// own symbols. Nothing where no product has rows that one symbol counts.
std::optional<Point> single_row(const ir::LoopFunc& func, const std::vector<ir::Expr>& scalars);

/// The function for these values of some of its symbols, which are symbols no more.
ir::LoopFunc specialised(const ir::LoopFunc& func, const ir::VarMap& values);

}  // namespace tilewright::driver
