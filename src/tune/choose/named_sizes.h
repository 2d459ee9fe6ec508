// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/func.h"

namespace tilewright::tune {

/// A function whose sizes are symbols, and what they are in the symbols of the one it was made of.
struct NamedSizes {
  ir::LoopFunc func;
  std::vector<ir::Expr> formulas;  // one for each symbol of `func`
};

/// The canonical form of the function with a symbol of its own for each size that is a quotient, a
/// product of sizes, an extremum, or a difference that may be empty, so that steps see an extent
/// where there was a formula to be proved things about.
///   x[b * ((w + 3) / 8), 120] where w in 1..999   ->   x[size1, 120] where size1 is b * ((w + 3) /
///   8)
/// Multiples and other sums stay: what is known of their parts is enough. How the new symbols
/// depend on others is not known inside; who made the blocks has proved by it that all accesses are
/// in bounds, and the canonical form was found with it.
NamedSizes with_named_sizes(const ir::LoopFunc& blocks);

}  // namespace tilewright::tune
