// SPDX-License-Identifier: Apache-2.0
// The analytic model: what a register tile costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "ir/target_spec.h"

namespace tilewright::tune {

/// Accumulators of a contraction: `rows` broadcast values times `vectors` of lanes.
struct Tile {
  int64_t rows = 1;
  int64_t vectors = 1;
};

/// The results of a contraction. Where a size is known in the run only, tiles are always whole, and
/// smaller than the greatest size: else there would be just one, of an unknown part of it.
struct ResultSize {
  int64_t rows = 1, columns = 1;
  bool whole_rows = false, whole_columns = false;
  int64_t most_rows = INT64_MAX, most_columns = INT64_MAX;
  // What more rows read at one time falls on the same few places of the first cache.
  int64_t near_rows = INT64_MAX;
  // The vectors of a tile over all terms, if they are no more bytes, stay in the first cache. Terms
  // of a window read the same ones, as many times.
  int64_t near_bytes = INT64_MAX;
  int64_t window = 1;
  // Cycles until a vector of a panel comes from memory. Tiles with as many rows as vectors ask for
  // it a panel ahead; others use as many registers and loads as there are, and wait.
  double far = 0;
  // Operations that make a vector of one factor, and a value of the other for each row, of what is
  // loaded: weights may have to be unpacked.
  double for_vector = 0, for_row = 0;

  bool fits(const Tile& tile, int64_t lanes) const {
    return (!whole_rows || tile.rows == 1 || tile.rows < most_rows) &&
           (!whole_columns || tile.vectors == 1 || tile.vectors * lanes < most_columns);
  }
};

/// The tile that needs the fewest cycles for results of `terms` terms each, tails included:
/// multiply-adds, loads and the latency of a sum, under the number of registers. Of several sizes
/// all count the same. It has that many vectors, or any number when it is 0.
Tile choose_tile(std::span<const ResultSize> sizes, int64_t terms, int64_t lanes,
                 const ir::TargetSpec& spec, int64_t vectors = 0);
/// The cycles of a tile for one result, on average, as choose_tile compares them.
double tile_cycles(const Tile& tile, std::span<const ResultSize> sizes, int64_t terms,
                   int64_t lanes, const ir::Rates& rates);

/// Both for sizes that are known; the cycles are those of all results.
inline Tile choose_tile(int64_t rows, int64_t columns, int64_t terms, int64_t lanes,
                        const ir::TargetSpec& spec) {
  const ResultSize size{.rows = std::max<int64_t>(rows, 1),
                        .columns = std::max<int64_t>(columns, 1)};
  return choose_tile(std::span(&size, 1), terms, lanes, spec);
}
inline double tile_cycles(const Tile& tile, int64_t rows, int64_t columns, int64_t terms,
                          int64_t lanes, const ir::Rates& rates) {
  const ResultSize size{.rows = std::max<int64_t>(rows, 1),
                        .columns = std::max<int64_t>(columns, 1)};
  return tile_cycles(tile, std::span(&size, 1), terms, lanes, rates) *
         static_cast<double>(size.rows * size.columns);
}

}  // namespace tilewright::tune
