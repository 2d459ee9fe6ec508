// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret/field.h"

#include <cmath>
#include <limits>

#include "ir/interpret/random.h"
#include "ir/scalar.h"
#include "support/diagnostic.h"

namespace tilewright::ir::field {
namespace {

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

uint64_t inf_of_sign(int s) { return s > 0 ? kInf : s < 0 ? kMinusInf : kNan; }

uint64_t hash_of(uint64_t key, const uint64_t* args, int n) {
  uint64_t h = mix(key);
  for (int i = 0; i < n; ++i) h = mix(h ^ args[i]);
  return h;
}

}  // namespace

namespace detail {

uint64_t add_special(uint64_t a, uint64_t b) {
  if (a == kNan || b == kNan) return kNan;
  if (!is_finite(a) && !is_finite(b) && a != b) return kNan;
  return is_finite(a) ? b : a;
}

uint64_t mul_special(uint64_t a, uint64_t b) {
  if (a == kNan || b == kNan) return kNan;
  return inf_of_sign(sign(a) * sign(b));
}

}  // namespace detail

int sign(uint64_t a) {
  if (a == 0 || a == kNan) return 0;
  if (!is_finite(a)) return a == kInf ? 1 : -1;
  return power(a, (kPrime - 1) / 2) == 1 ? 1 : -1;  // Euler's criterion
}

uint64_t div(uint64_t a, uint64_t b) {
  if (a == kNan || b == kNan) return kNan;
  if (!is_finite(b)) return is_finite(a) ? 0 : kNan;
  if (b == 0) return inf_of_sign(sign(a));
  return mul(a, power(b, kPrime - 2));
}

bool less(uint64_t a, uint64_t b) {
  if (a == kNan || b == kNan || a == b) return false;
  if (a == kMinusInf || b == kInf) return true;
  if (a == kInf || b == kMinusInf) return false;
  return a < b;
}

uint64_t min(uint64_t a, uint64_t b) {
  if (a == kNan || b == kNan) return kNan;
  return less(b, a) ? b : a;
}

uint64_t max(uint64_t a, uint64_t b) {
  if (a == kNan || b == kNan) return kNan;
  return less(a, b) ? b : a;
}

uint64_t from_double(double v) {
  if (std::isnan(v)) return kNan;
  if (std::isinf(v)) return v > 0 ? kInf : kMinusInf;
  int exponent;
  const double half = std::frexp(std::fabs(v), &exponent);
  const auto mantissa = static_cast<uint64_t>(std::ldexp(half, 53));
  // 2^61 = 1 in the field, so powers of two repeat with period 61.
  const int shift = ((exponent - 53) % 61 + 61) % 61;
  const uint64_t a = mul(mantissa, uint64_t{1} << shift);
  return v < 0 ? neg(a) : a;
}

double to_double(uint64_t a) {
  if (is_finite(a)) return static_cast<double>(a);
  if (a == kNan) return std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  return a == kInf ? inf : -inf;
}

uint64_t from_int(Elem from, int64_t v) {
  const auto u = static_cast<uint64_t>(v);
  if (is_signed(from) && v < 0) return neg((0 - u) % kPrime);
  return u % kPrime;
}

int64_t to_int(Elem to, uint64_t a) {
  if (to == Elem::Bool) return a != 0;
  if (a == kNan) return 0;
  if (a == kMinusInf) return int_min(to);
  const uint64_t greatest = int_max(to);
  return static_cast<int64_t>(a == kInf || a > greatest ? greatest : a);
}

bool compare(BinaryOp op, uint64_t a, uint64_t b) {
  const bool nan = a == kNan || b == kNan;
  switch (op) {
    case BinaryOp::Eq: return !nan && a == b;
    case BinaryOp::Ne: return nan || a != b;
    case BinaryOp::Lt: return less(a, b);
    case BinaryOp::Le: return !nan && !less(b, a);
    default: throw InternalError("field::compare: not a comparison");
  }
}

uint64_t binary(BinaryOp op, uint64_t a, uint64_t b) {
  switch (op) {
    case BinaryOp::Add: return add(a, b);
    case BinaryOp::Sub: return sub(a, b);
    case BinaryOp::Mul: return mul(a, b);
    case BinaryOp::Div: return div(a, b);
    case BinaryOp::Min: return min(a, b);
    case BinaryOp::Max: return max(a, b);
    default: throw InternalError("field::binary: not an operator of floats");
  }
}

uint64_t unary(UnaryOp op, uint64_t a) {
  if (op == UnaryOp::Neg) return neg(a);
  require(op == UnaryOp::Abs, "field::unary: not an operator of floats");
  return a == kMinusInf ? kInf : a;  // by representative no finite element is below 0
}

uint64_t call(MathFn fn, const uint64_t* args) {
  switch (fn) {
    case MathFn::Fma: return add(mul(args[0], args[1]), args[2]);
    case MathFn::IsNan: return args[0] == kNan;
    case MathFn::IsInf: return args[0] == kInf || args[0] == kMinusInf;
    default: break;
  }
  const int n = info(fn).args;
  for (int i = 0; i < n; ++i)
    if (args[i] == kNan) return kNan;
  return hash_of(static_cast<uint64_t>(fn) + 1, args, n) % kPrime;
}

uint64_t reinterpret(Elem from, Elem to, uint64_t v) {
  if (is_float(from) == is_float(to))
    return is_float(to) ? v : static_cast<uint64_t>(wrap_int(to, static_cast<int64_t>(v)));
  const uint64_t h =
      hash_of(1000 + static_cast<uint64_t>(from) * 100 + static_cast<uint64_t>(to), &v, 1);
  return is_float(to) ? h % kPrime : static_cast<uint64_t>(wrap_int(to, static_cast<int64_t>(h)));
}

}  // namespace tilewright::ir::field
