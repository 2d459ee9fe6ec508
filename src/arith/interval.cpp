// SPDX-License-Identifier: Apache-2.0
#include "arith/interval.h"

#include <algorithm>
#include <bit>

namespace tilewright::arith {
namespace {

using ir::BinaryOp;
using ir::UnaryOp;

// Any value at least this large in magnitude is an infinity. Finite 64-bit operands stay below it
// under + and floor division, and their products are capped to it.
constexpr Wide kInfinity = Wide{1} << 100;

Wide widen(int64_t v) {
  if (v == Interval::kMin) return -kInfinity;
  if (v == Interval::kMax) return kInfinity;
  return v;
}

bool infinite(Wide v) { return v >= kInfinity || v <= -kInfinity; }

Interval from_wide(Wide lo, Wide hi) { return {clamp_wide(lo), clamp_wide(hi)}; }

Wide times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return std::clamp(a * b, -kInfinity, kInfinity);
}

Interval add(const Interval& a, const Interval& b) {
  return from_wide(widen(a.lo) + widen(b.lo), widen(a.hi) + widen(b.hi));
}

Interval negate(const Interval& a) { return from_wide(-widen(a.hi), -widen(a.lo)); }

Interval multiply(const Interval& a, const Interval& b) {
  const Wide corners[] = {times(widen(a.lo), widen(b.lo)), times(widen(a.lo), widen(b.hi)),
                          times(widen(a.hi), widen(b.lo)), times(widen(a.hi), widen(b.hi))};
  return from_wide(*std::min_element(corners, corners + 4),
                   *std::max_element(corners, corners + 4));
}

/// Division by a divisor of one sign: monotone in each operand, so the corners bound it.
Interval divide_by_sign(const Interval& a, const Interval& b) {
  Wide lo = kInfinity, hi = -kInfinity;
  const auto corner = [&](Wide x, Wide y) {
    const bool negative = (x < 0) != (y < 0);
    if (infinite(y)) {  // towards 0, or -1 from below
      const Wide limit = x == 0 ? 0 : negative ? -1 : 0;
      lo = std::min(lo, limit);
      hi = std::max(hi, limit);
    }
    if (infinite(x)) {
      lo = std::min(lo, negative ? -kInfinity : Wide{0});
      hi = std::max(hi, negative ? Wide{-1} : kInfinity);
    } else if (!infinite(y)) {
      lo = std::min(lo, floor_div_wide(x, y));
      hi = std::max(hi, floor_div_wide(x, y));
    }
  };
  for (const Wide x : {widen(a.lo), widen(a.hi)})
    for (const Wide y : {widen(b.lo), widen(b.hi)}) corner(x, y);
  return from_wide(lo, hi);
}

Interval divide(const Interval& a, const Interval& b) {
  std::optional<Interval> out;
  const auto include = [&](const Interval& part) { out = out ? hull(*out, part) : part; };
  if (b.lo < 0) include(divide_by_sign(a, {b.lo, std::min<int64_t>(b.hi, -1)}));
  if (b.contains(0)) include(Interval::point(0));
  if (b.hi > 0) include(divide_by_sign(a, {std::max<int64_t>(b.lo, 1), b.hi}));
  return out.value_or(Interval::everything());
}

Interval modulo(const Interval& a, const Interval& b) {
  if (b.is_point() && b.lo > 0 && b.hi != Interval::kMax && a.bounded() &&
      floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
    return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
  Interval out = Interval::point(0);
  if (b.hi > 0) {
    // A non-negative value below every divisor is its own remainder; no remainder exceeds it.
    if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return a;
    out.hi = b.hi == Interval::kMax ? b.hi : b.hi - 1;
    if (a.lo >= 0) out.hi = std::min(out.hi, a.hi);
  }
  if (b.lo < 0) out.lo = b.lo == Interval::kMin ? b.lo : b.lo + 1;
  return out;
}

/// The least 2^k - 1 that is at least v >= 0.
int64_t mask_over(int64_t v) {
  const int width = 64 - std::countl_zero(static_cast<uint64_t>(v));
  return static_cast<int64_t>((uint64_t{1} << width) - 1);
}

Interval bitwise(BinaryOp op, const Interval& a, const Interval& b) {
  if (op == BinaryOp::BitAnd) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    if (b.lo >= 0) return {0, b.hi};
    return Interval::everything();
  }
  if (a.lo < 0 || b.lo < 0) return Interval::everything();
  const int64_t hi = mask_over(std::max(a.hi, b.hi));
  return {op == BinaryOp::BitOr ? std::max(a.lo, b.lo) : 0, hi};
}

/// A shift by amounts in 0 … 62 is a multiplication or floor division by powers of two.
Interval shift(BinaryOp op, const Interval& a, const Interval& b) {
  if (b.lo < 0 || b.hi > 62) return Interval::everything();
  const Interval powers{int64_t{1} << b.lo, int64_t{1} << b.hi};
  return op == BinaryOp::Shl ? multiply(a, powers) : divide(a, powers);
}

Interval truth(bool surely, bool surely_not) { return {surely ? 1 : 0, surely_not ? 0 : 1}; }

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Wide floor_div_wide(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t clamp_wide(Wide v) {
  return static_cast<int64_t>(std::clamp<Wide>(v, Interval::kMin, Interval::kMax));
}

std::optional<int64_t> narrow(Wide v) {
  const auto low = static_cast<int64_t>(v);
  return low == v ? std::optional(low) : std::nullopt;
}

Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Interval range_of(ir::Elem elem) {
  if (elem == ir::Elem::Bool) return {0, 1};
  if (elem == ir::Elem::U64 || !ir::is_int(elem)) return Interval::everything();
  return {ir::int_min(elem), static_cast<int64_t>(ir::int_max(elem))};
}

Interval apply(BinaryOp op, const Interval& a, const Interval& b) {
  switch (op) {
    case BinaryOp::Add: return add(a, b);
    case BinaryOp::Sub: return add(a, negate(b));
    case BinaryOp::Mul: return multiply(a, b);
    case BinaryOp::Div: return divide(a, b);
    case BinaryOp::Mod: return modulo(a, b);
    case BinaryOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor: return bitwise(op, a, b);
    case BinaryOp::Shl:
    case BinaryOp::Shr: return shift(op, a, b);
    case BinaryOp::And: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::Or: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::Eq:
      return truth(a.is_point() && a == b && a.bounded(), a.hi < b.lo || b.hi < a.lo);
    case BinaryOp::Ne:
      return truth(a.hi < b.lo || b.hi < a.lo, a.is_point() && a == b && a.bounded());
    case BinaryOp::Lt: return truth(a.hi < b.lo, a.lo >= b.hi && b.hi != Interval::kMax);
    case BinaryOp::Le: return truth(a.hi <= b.lo && b.lo != Interval::kMin, a.lo > b.hi);
  }
  __builtin_unreachable();
}

Interval apply(UnaryOp op, const Interval& a) {
  switch (op) {
    case UnaryOp::Neg: return negate(a);
    case UnaryOp::Not: return {1 - a.hi, 1 - a.lo};
    case UnaryOp::BitNot: return add(negate(a), Interval::point(-1));
    case UnaryOp::Abs:
      if (a.lo >= 0) return a;
      return a.hi <= 0 ? negate(a) : Interval{0, std::max(negate(a).hi, a.hi)};
  }
  __builtin_unreachable();
}

}  // namespace tilewright::arith
