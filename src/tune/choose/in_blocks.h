// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/func.h"

namespace tilewright::tune {

/// A parameter whose dimension `dim` lies in memory in pieces: the places inside a piece are the
/// last dimension.
///   f32[1, 64, 56, 56], dimension 1 in pieces of 8   ->   f32[1, 8, 56, 56, 8]
struct Pieces {
  size_t param = 0;
  size_t dim = 0;
  int64_t size = 1;
};

/// The function with such parameters. Iterators that run along a dimension in pieces are cut in
/// two, and with them what they index elsewhere: other parameters keep their bytes, intermediate
/// results lie in pieces too.
///   Y[n, m, y, x] = sum(c, k) X[n, c, y + k, x] * W[m, c, k]
///   ->  Y[n, m0, y, x, m1] = sum(c0, k, c1) X[n, c0, y + k, x, c1] * W[m0, m1, c0, c1, k]
/// Nothing when a block that is no plain stage touches one of the parameters.
std::optional<ir::LoopFunc> in_blocks(const ir::LoopFunc& blocks,
                                      const std::vector<Pieces>& params);

/// The function with iterators of sums cut where an operand is read at their quotient, so that what
/// the operands have in common is an iterator of its own. No element moves.
///   Y[m in 64, x] = sum(c in 8) X[m / 8 * 8 + c, x] * W[m, c]
///   ->  Y[g in 8, m in 8, x] = sum(c in 8) X[g * 8 + c, x] * W[g, m, c]
ir::LoopFunc in_groups(const ir::LoopFunc& blocks);

}  // namespace tilewright::tune
