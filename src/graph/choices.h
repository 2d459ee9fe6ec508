// SPDX-License-Identifier: Apache-2.0
// The cheapest of all combinations of yes-or-no choices.
#pragma once

#include <cstddef>
#include <vector>

namespace tilewright::graph {

/// A cost that depends on some of the choices: `table` has an entry for each combination of them,
/// the first choice of `vars` in the lowest bit.
struct CostTable {
  std::vector<size_t> vars;
  std::vector<double> table;
};

struct Choices {
  std::vector<bool> chosen;
  double cost = 0;
  bool exact = true;  // no combination is cheaper
};

/// The choices of the least sum of all tables, found by eliminating one choice after another: exact
/// as long as no more than `width` choices hang together at once, as they do on trees and on the
/// chains with shortcuts that networks are. Where more do, the one with the most neighbours is made
/// by itself first.
Choices cheapest(size_t count, std::vector<CostTable> costs, size_t width = 14);

}  // namespace tilewright::graph
