// SPDX-License-Identifier: Apache-2.0
// Values that lie inside of another one's memory, so that `concat` and `split` cost nothing.
//   %c: f32[1, 96, 20, 20] = concat(%a, %b) {axis = 1}     %a and %b are written where %c has them
//   %p, %q = split(%c) {axis = 1}                          %p and %q are read where %c has them
// Of a free batch n they lie there when n is 1, and otherwise in memory of their own.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace tilewright::graph {

/// The value begins so many bytes after the beginning of `whole`.
struct Part {
  ValueId whole = kNoValue;
  Dim offset;
  ir::Expr when;  // null: always; else it lies there under this condition, which inputs tell
};

struct Parts {
  std::map<ValueId, Part> places;
  std::unordered_set<const Node*> nodes;  // concats and splits that have nothing to compute
  std::unordered_map<const Node*, ir::Expr> some;  // others that have nothing under a condition

  /// The value whose memory this one always lies in, itself when there is none.
  ValueId root(ValueId id) const;
};

/// Those of the main function. A value is a part of one other at most.
Parts parts_in_place(const Graph& graph);

/// The pieces of a concat (its inputs) or split (its results) with their offsets, when each of them
/// is one stretch of the whole at an address that kernels can take, if its channels lie in the same
/// blocks as those of the whole; no pieces otherwise.
struct Stretches {
  std::vector<std::pair<ValueId, Dim>> pieces;
  ir::Expr when;  // null: always
};
Stretches stretches(const Graph& graph, SymbolIndex& symbols, const Node& node);

}  // namespace tilewright::graph
