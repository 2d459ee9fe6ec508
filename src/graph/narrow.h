// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.h"

namespace tilewright::graph {

/// Takes from checks of the main function, from number `first` to before `last`, what sizes of
/// inputs they allow. What follows such a check may count on it: the run makes it before anything
/// else.
///   before   symbol n in 0..2147483647            check n < 513
///   after    symbol n in 0..512 of 0..2147483647  check n < 513
/// Returns whether a range became smaller.
bool narrow(Graph& graph, size_t first, size_t last);
/// Forgets the symbols from a place on that stand for formulas, but for those that the checks from
/// a place on mention.
void forget_formulas(Graph& graph, size_t symbols, size_t checks);
/// Begins anew, after checks were taken back: those before `last` are left.
void narrow_again(Graph& graph, size_t last);

}  // namespace tilewright::graph
