// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/model.h"

#include <algorithm>

namespace tilewright::tune {
namespace {

constexpr double kFma = 0.5;
constexpr double kOperation = 0.1;  // most of them run beside multiply-adds
constexpr double kResult = 2;       // of storing and starting one vector of results
constexpr double kTileEnd = 8;      // of the loops around a tile
constexpr double kLine = 64;        // bytes that a cache brings at once
constexpr double kBeside = 0.05;    // of what the second cache takes that arithmetic does not hide
constexpr double kWait = 1.2;       // a tile of few sums waits for more than the latency of one
constexpr double kShared = 2;       // the second cache beside loads from the first, against alone
constexpr double kElement =
    4;  // bytes of a lane: an f32, or what makes a term of one; an f64 is more

/// One tile of r rows and v vectors of so many bytes over all terms. Rows that are not near each
/// other's values in the first cache take each of them from the second one; so do the first rows'
/// vectors, and all that do not stay there until the next rows.
double one_tile(double r, double v, double vector_bytes, double terms, bool is_first,
                const ResultSize& size, const ir::Rates& rates) {
  const double made = (v * size.for_vector + r * size.for_row) * kOperation;
  double step = std::max({r * v * kFma, (r + v) * rates.load, kWait * rates.latency}) + made;
  if (r > static_cast<double>(size.near_rows)) step = std::max(step, r * kLine / rates.bytes[0]);
  const double bytes = v * vector_bytes / static_cast<double>(size.window);
  if (is_first || bytes * terms > static_cast<double>(size.near_bytes)) {
    const double from_second = kShared * bytes / rates.bytes[0];
    step = std::max(step, from_second) + kBeside * from_second;
  }
  return step * terms + r * v * kResult + kTileEnd;
}

/// A size that only the run knows is none of the likely ones: of its last tile half is there.
double tiles_of(int64_t n, int64_t tile) {
  const double all = static_cast<double>(n) + static_cast<double>(tile - 1) / 2;
  return std::max(all / static_cast<double>(tile), 1.0);
}

/// Tiles along one side: how many, and how long the last one is if it is another.
struct Side {
  double whole = 0;
  int64_t rest = 0;
};
Side tiles_along(int64_t n, int64_t tile, bool always_whole) {
  if (always_whole) return {tiles_of(n, tile), 0};
  return {static_cast<double>(n / tile), n % tile};
}

/// All results of one size.
double all_tiles(const Tile& tile, const ResultSize& size, int64_t terms, int64_t lanes,
                 const ir::Rates& rates) {
  const int64_t width = tile.vectors * lanes;
  const Side rows = tiles_along(size.rows, tile.rows, size.whole_rows);
  const Side columns = tiles_along(size.columns, width, size.whole_columns);
  const auto down = [&](int64_t vectors) {
    const auto v = static_cast<double>(vectors), k = static_cast<double>(terms);
    const auto of = [&](int64_t r, bool is_first) {
      return one_tile(static_cast<double>(r), v, kElement * static_cast<double>(lanes), k, is_first,
                      size, rates);
    };
    const double first = std::min(rows.whole, 1.0);
    double all = first * of(tile.rows, true) + (rows.whole - first) * of(tile.rows, false);
    if (rows.rest != 0) all += of(rows.rest, rows.whole == 0);
    return tile.vectors > tile.rows ? all + size.far * v * k : all;
  };
  double all = columns.whole * down(tile.vectors);
  if (columns.rest != 0) all += down((columns.rest + lanes - 1) / lanes);
  return all;
}

}  // namespace

double tile_cycles(const Tile& tile, std::span<const ResultSize> sizes, int64_t terms,
                   int64_t lanes, const ir::Rates& rates) {
  double sum = 0;
  for (const ResultSize& size : sizes)
    sum +=
        all_tiles(tile, size, terms, lanes, rates) / static_cast<double>(size.rows * size.columns);
  return sum / static_cast<double>(sizes.size());
}

Tile choose_tile(std::span<const ResultSize> sizes, int64_t terms, int64_t lanes,
                 const ir::TargetSpec& spec, int64_t vectors) {
  int64_t rows = 1, columns = 1;
  for (const ResultSize& size : sizes) {
    rows = std::max(rows, size.rows);
    columns = std::max(columns, size.columns);
  }
  const int64_t registers = spec.vector_registers, most = (columns + lanes - 1) / lanes;
  Tile best;
  double least = 1e300;
  for (int64_t v = 1; v <= std::min<int64_t>(most, 8); ++v)
    for (int64_t r = 1; r <= rows && r * v + std::min(r, v) + 1 <= registers; ++r) {
      if ((vectors > 0 && v != vectors) || !sizes[0].fits({r, v}, lanes)) continue;
      const double cycles = tile_cycles({r, v}, sizes, terms, lanes, spec.rates);
      if (cycles < least * (1 - 1e-9)) {
        least = cycles;
        best = {r, v};
      }
    }
  return best;
}

}  // namespace tilewright::tune
