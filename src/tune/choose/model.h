// SPDX-License-Identifier: Apache-2.0
// The analytic model: what a register tile costs.
#pragma once

#include <cstdint>

#include "ir/target_spec.h"

namespace tilewright::tune {

/// Accumulators of a contraction: `rows` broadcast values times `vectors` of lanes.
struct Tile {
  int64_t rows = 1;
  int64_t vectors = 1;
};

/// The tile that needs the fewest cycles for `rows` x `columns` results of `terms` terms each,
/// tails included: multiply-adds, loads and the latency of a sum, under the number of registers.
Tile choose_tile(int64_t rows, int64_t columns, int64_t terms, int64_t lanes,
                 const ir::TargetSpec& spec);
/// The cycles of a tile for all these results, as choose_tile compares them.
double tile_cycles(const Tile& tile, int64_t rows, int64_t columns, int64_t terms, int64_t lanes);

}  // namespace tilewright::tune
