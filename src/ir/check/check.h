// SPDX-License-Identifier: Apache-2.0
// The proof that a concurrent program has no race and cannot come to a standstill.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/func.h"

namespace tilewright::ir {

struct CheckReport {
  /// One execution decides for all interleavings: nothing that orders the program depends on data.
  /// False when atomics or loaded values do: the program was explored in some orders only.
  bool proved = false;
  std::vector<std::vector<int64_t>> sizes;  // values of the symbols that were checked, in order
  std::string summary;                      // "proved for n = 0, 1, 3, 4, 5, 9"
};

/// Runs `f` with vector clocks at the given values of its symbols; without any, at sizes that give
/// every channel of n slots 0, 1, n - 1, n, n + 1 and 2n + 1 items as far as symbols can, and at
/// small sizes else. Integer parameters are 0, which every index may be: accesses that depend on
/// data are checked for that data alone.
///
/// Throws Error: ir.check.race, .deadlock, .channel, .barrier, .lane with both accesses, who makes
/// them, or the channel and item; or what interpret() throws for a program that is wrong otherwise.
CheckReport check_concurrency(const LoopFunc& f,
                              const std::vector<std::vector<int64_t>>& sizes = {});

}  // namespace tilewright::ir
