// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "ir/expr.h"

namespace tilewright::target::c_source {

/// lo <= value <= hi in every lane, as exact integers.
struct Range {
  __int128 lo = 0, hi = 0;

  bool is_constant() const { return lo == hi; }
  bool within(const Range& other) const { return lo >= other.lo && hi <= other.hi; }
};

/// All values of an integer type or bool.
Range range_of(ir::Elem elem);

/// What integer expressions can be, from the bounds of loops and symbols: where nothing wraps, C's
/// own operators compute what the IR means and the text stays readable.
class Ranges {
 public:
  /// The values of a variable to the end of its scope; binding it again replaces them.
  void bind(const ir::Var& var, Range range);
  /// Within the type's range; floats have none.
  Range of(const ir::Expr& e);

 private:
  Range compute(const ir::Expr& e);
  Range of(const ir::Unary& e);
  Range of(const ir::Binary& e);
  std::unordered_map<ir::Var, Range> vars_;
  std::unordered_map<ir::Expr, Range> known_;
};

/// The exact result of +, - and * before it is wrapped.
Range exact(ir::BinaryOp op, const Range& a, const Range& b);

}  // namespace tilewright::target::c_source
