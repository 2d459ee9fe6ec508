// SPDX-License-Identifier: Apache-2.0
// The meaning of the loop IR (ir/README.md) in executable form.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/func.h"
#include "ir/interpret/array.h"

namespace tilewright::ir {

struct RunOptions {
  Arithmetic arithmetic = Arithmetic::Ieee;
  uint64_t seed = 0;  // order of concurrent work; 0: in order of iterations and agents
  int64_t max_steps = 1'000'000'000;
  bool check = true;  // races, and the rules of blocks: domain, regions, runs of a reduction
};

/// Runs `f` on one array per parameter, with the symbols' values in declared order. An `out` array
/// is given with its shape and overwritten.
///
/// Throws Error with one of the codes ir.run.*: argument, symbol, input (an `in` parameter is
/// written), unbound, bounds, uninitialised, unwritten, duplicate (lanes of one store), size,
/// limit, layout, lane, instr, domain, region, instance, race, deadlock, channel, barrier. The
/// arrays' contents are then not defined.
void interpret(const LoopFunc& f, std::vector<Array>& args,
               const std::vector<int64_t>& symbols = {}, const RunOptions& options = {});

}  // namespace tilewright::ir
