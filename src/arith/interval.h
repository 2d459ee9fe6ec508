// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "ir/ops.h"
#include "ir/type.h"

namespace tilewright::arith {

/// Wide enough for a sum or product of two 64-bit values.
__extension__ typedef __int128 Wide;

/// Constant bounds lo <= x <= hi, both included; the extreme values stand for "unbounded".
/// Operations saturate, so a bound that would overflow becomes unbounded, never wrong.
struct Interval {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo = kMin;
  int64_t hi = kMax;

  static Interval point(int64_t v) { return {v, v}; }
  static Interval everything() { return {}; }
  bool is_point() const { return lo == hi; }
  bool is_empty() const { return lo > hi; }
  bool bounded() const { return lo != kMin && hi != kMax; }
  bool contains(int64_t v) const { return lo <= v && v <= hi; }
  bool contains(const Interval& other) const { return lo <= other.lo && other.hi <= hi; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

Interval intersect(const Interval& a, const Interval& b);
Interval hull(const Interval& a, const Interval& b);

/// The operators on mathematical integers: nothing wraps, x / 0 == x % 0 == 0.
Interval apply(ir::BinaryOp op, const Interval& a, const Interval& b);
Interval apply(ir::UnaryOp op, const Interval& a);

/// Every value of an integer or bool type. Half of u64 lies outside: it has no interval here.
Interval range_of(ir::Elem elem);

/// Floor division and modulo of constants, as ir/README.md §3.2; kMin / -1 does not occur.
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);
Wide floor_div_wide(Wide a, Wide b);
/// The nearest 64-bit value.
int64_t clamp_wide(Wide v);
/// The 64-bit value, unless it does not fit.
std::optional<int64_t> narrow(Wide v);

}  // namespace tilewright::arith
