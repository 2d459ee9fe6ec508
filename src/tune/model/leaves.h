// SPDX-License-Identifier: Apache-2.0
// A loop program as the cost model sees it: its innermost statements, the loops around each, and
// how each access moves with each loop.
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::tune {

struct LeafLoop {
  double extent = 1;  // with a typical value for each symbol
  ir::ForKind kind{};
  bool sums = false;  // goes on with the same results
};

struct LeafAccess {
  const void* buffer = nullptr;  // the same for the same buffer
  bool store = false;
  bool in_registers = false;  // or in a tile
  bool in_tile = false;
  double bytes = 4;                        // of an element
  std::vector<double> shape;               // of the buffer
  std::vector<std::vector<double>> steps;  // by dimension, then by loop: about linear

  /// What is touched while the loops from `level` on run: of one dimension, elements, cache lines.
  double range(const std::vector<LeafLoop>& loops, size_t level, size_t dim) const;
  double elements(const std::vector<LeafLoop>& loops, size_t level) const;
  double lines(const std::vector<LeafLoop>& loops, size_t level) const;
  /// By how many elements it moves with one step of a loop.
  double stride(size_t loop) const;
};

struct Leaf {
  std::vector<LeafLoop> loops;  // outermost first
  std::vector<LeafAccess> accesses;
  double operations = 0;  // of one run
  double needed = 1;      // share of runs that the predicate lets through
  bool update = false;    // combines into what it stores

  double runs(size_t from = 0) const;
};

/// What only reads constants, and is prepared before the run, is left out.
std::vector<Leaf> leaves_of(const ir::LoopFunc& func, const std::vector<std::string>& constants);

}  // namespace tilewright::tune
