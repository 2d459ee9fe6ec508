// SPDX-License-Identifier: Apache-2.0
// The meaning of expressions by ir/scalar.h, lane by lane, for comparing before and after.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"

namespace tilewright::arith {

/// The lanes of a value: integers and bools, or floats.
struct Value {
  std::vector<int64_t> ints;
  std::vector<double> floats;

  static Value of(int64_t v) { return {{v}, {}}; }
  static Value of_float(double v) { return {{}, {v}}; }
};
/// Bit for bit, but all NaN are one.
bool same(const Value& a, const Value& b);

using Values = std::unordered_map<const ir::ExprNode*, Value>;

/// Memory is a fixed function of buffer and indices, so loads of equal places agree.
Value evaluate(const ir::Expr& e, const Values& values);
inline int64_t evaluate_int(const ir::Expr& e, const Values& values) {
  return evaluate(e, values).ints[0];
}

}  // namespace tilewright::arith
