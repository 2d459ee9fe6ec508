// SPDX-License-Identifier: Apache-2.0
// The numbers of exact mode: integers modulo the prime p = 2^61 - 1, and inf, -inf and NaN
// (ir/README.md §6). Sums and products are exact, so every reassociation gives the same bits.
#pragma once

#include <cstdint>

#include "ir/ops.h"
#include "ir/type.h"

namespace tilewright::ir::field {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr uint64_t kInf = kPrime;
constexpr uint64_t kMinusInf = kPrime + 1;
constexpr uint64_t kNan = kPrime + 2;

inline bool is_finite(uint64_t a) { return a < kPrime; }

namespace detail {
// What the operations do when an operand is inf, -inf or NaN.
uint64_t add_special(uint64_t a, uint64_t b);
uint64_t mul_special(uint64_t a, uint64_t b);
}  // namespace detail

inline uint64_t add(uint64_t a, uint64_t b) {
  if (!is_finite(a) || !is_finite(b)) return detail::add_special(a, b);
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}

inline uint64_t neg(uint64_t a) {
  if (is_finite(a)) return a == 0 ? 0 : kPrime - a;
  return a == kInf ? kMinusInf : a == kMinusInf ? kInf : kNan;
}

inline uint64_t sub(uint64_t a, uint64_t b) { return add(a, neg(b)); }

inline uint64_t mul(uint64_t a, uint64_t b) {
  if (!is_finite(a) || !is_finite(b)) return detail::mul_special(a, b);
  const auto wide = static_cast<unsigned __int128>(a) * b;
  const uint64_t sum = (static_cast<uint64_t>(wide) & kPrime) + static_cast<uint64_t>(wide >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}

/// a times the inverse of b; 1/0 is inf, 0/0 NaN.
uint64_t div(uint64_t a, uint64_t b);

/// -1, 0 or 1 such that sign(a b) = sign(a) sign(b) and sign(-a) = -sign(a): whether a is a square.
/// It gives inf * a its sign, so that products with inf reassociate too.
int sign(uint64_t a);

/// By representative, -inf below and inf above; NaN compares as in IEEE.
bool less(uint64_t a, uint64_t b);
uint64_t min(uint64_t a, uint64_t b);
uint64_t max(uint64_t a, uint64_t b);

/// A double is a dyadic rational, which the field holds exactly.
uint64_t from_double(double v);
/// The representative, for people.
double to_double(uint64_t a);
/// An integer of type `from`.
uint64_t from_int(Elem from, int64_t v);
/// The representative, saturated to `to`; NaN gives 0.
int64_t to_int(Elem to, uint64_t a);

/// Eq, Ne, Lt and Le.
bool compare(BinaryOp op, uint64_t a, uint64_t b);
uint64_t binary(BinaryOp op, uint64_t a, uint64_t b);
uint64_t unary(UnaryOp op, uint64_t a);
/// Math functions are keyed hashes of their arguments, NaN gives NaN; fma, isnan and isinf are what
/// they say.
uint64_t call(MathFn fn, const uint64_t* args);
/// Seeing the bits as another type is a keyed hash as well.
uint64_t reinterpret(Elem from, Elem to, uint64_t v);

}  // namespace tilewright::ir::field
