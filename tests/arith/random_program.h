// SPDX-License-Identifier: Apache-2.0
// Random facts and expressions, with every valuation that the facts allow.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "arith/context.h"
#include "arith/evaluate.h"

namespace tilewright::arith {

class RandomFacts {
 public:
  explicit RandomFacts(uint64_t seed);

  /// A random index expression of the variables.
  ir::Expr index(int depth);
  /// A sum of a few variables with small coefficients.
  ir::Expr affine();
  ir::Expr condition(int depth);
  int64_t number(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(engine);
  }

  std::mt19937_64 engine;
  Context context;
  std::vector<ir::Var> vars;
  std::string description;
  std::vector<Values> valuations;  // all, or a sample; may be empty
};

}  // namespace tilewright::arith
