// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "arith/context.h"
#include "ir/buffer.h"

namespace tilewright::schedule {

/// A change of index that cuts dimensions into digits: `(n, k) -> [n / 32, k, n % 32]`.
/// Each result is `v`, `v / c`, `v % m` or `v / c % m`, and the digits of one variable fit
/// together, so that the map is injective.
struct IndexMap {
  std::vector<ir::Var> vars;
  std::vector<ir::Expr> results;

  /// The results at these indices.
  std::vector<ir::Expr> at(const std::vector<ir::Expr>& indices) const;
};

struct Digit {
  size_t var = 0;
  int64_t divisor = 1;
  int64_t modulus = 0;  // 0: none
};

/// The digits of the map; an Error with the step's name when it is not such a map.
std::vector<Digit> digits_of(const IndexMap& map, std::string_view step);

/// The shape that holds all results for indices inside `shape`.
std::vector<ir::Expr> mapped_shape(const std::vector<Digit>& digits,
                                   const std::vector<ir::Expr>& shape);
/// A box that holds the results for all indices inside `ranges`.
std::vector<ir::Range> mapped_ranges(const std::vector<Digit>& digits,
                                     const std::vector<ir::Range>& ranges);

}  // namespace tilewright::schedule
