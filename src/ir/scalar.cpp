// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "support/diagnostic.h"

namespace tilewright::ir {
namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_inf;
  bool has_nan;
  bool fnuz;          // one NaN at the place of -0, no -0
  double max_finite;  // greatest magnitude
};

Format format_of(Elem e) {
  const ElemInfo& i = info(e);
  Format f{
      i.exponent_bits, i.mantissa_bits, (1 << (i.exponent_bits - 1)) - 1, true, true, false, 0};
  if (e == Elem::F8E4M3) f.has_inf = false;
  if (e == Elem::F4E2M1) f.has_inf = f.has_nan = false;
  if (e == Elem::F8E4M3FNUZ || e == Elem::F8E5M2FNUZ) {
    f.has_inf = false;
    f.fnuz = true;
    f.bias += 1;
  }
  // e4m3 keeps the top exponent for numbers, all but the mantissa of ones, which is NaN.
  const int top = (1 << f.exponent_bits) - (f.has_inf ? 2 : 1);
  const double mantissa = e == Elem::F8E4M3 ? 1.75 : 2.0 - std::ldexp(1.0, -f.mantissa_bits);
  f.max_finite = std::ldexp(mantissa, top - f.bias);
  return f;
}

double beyond(const Format& f, double v) {
  if (f.has_inf) return std::copysign(std::numeric_limits<double>::infinity(), v);
  return f.has_nan ? std::numeric_limits<double>::quiet_NaN() : std::copysign(f.max_finite, v);
}

/// Rounds to `f`'s precision, keeping subnormals; ties to even.
double round_generic(const Format& f, double v) {
  if (std::isnan(v)) return f.has_nan ? v : -0.0;
  if (std::isinf(v)) return beyond(f, v);
  if (v == 0) return f.fnuz ? 0.0 : v;
  int exponent;
  std::frexp(v, &exponent);  // v = m * 2^exponent, 0.5 <= |m| < 1
  const int lowest = 1 - f.bias;
  const int quantum = std::max(exponent - 1, lowest) - f.mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(v, -quantum)), quantum);
  if (std::fabs(rounded) > f.max_finite) return beyond(f, v);
  return f.fnuz && rounded == 0 ? 0.0 : rounded;
}

/// The nearest power of two from 2^-127 to 2^127, of two the greater; NaN above and below 0.
double round_e8m0(double v) {
  if (!(v >= 0) || std::isinf(v)) return std::numeric_limits<double>::quiet_NaN();
  int exponent;
  const double half = std::frexp(v, &exponent);
  const int power = v == 0 ? -127 : std::max(-127, exponent - (half < 0.75 ? 1 : 0));
  return power > 127 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, power);
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/// f32 results come from f64 arithmetic and one rounding; for f64 the library's own accuracy holds.
double math1(MathFn fn, double x) {
  switch (fn) {
    case MathFn::Exp: return std::exp(x);
    case MathFn::Exp2: return std::exp2(x);
    case MathFn::Expm1: return std::expm1(x);
    case MathFn::Log: return std::log(x);
    case MathFn::Log2: return std::log2(x);
    case MathFn::Log1p: return std::log1p(x);
    case MathFn::Sqrt: return std::sqrt(x);
    case MathFn::Rsqrt: return 1.0 / std::sqrt(x);
    case MathFn::Sin: return std::sin(x);
    case MathFn::Cos: return std::cos(x);
    case MathFn::Tan: return std::tan(x);
    case MathFn::Asin: return std::asin(x);
    case MathFn::Acos: return std::acos(x);
    case MathFn::Atan: return std::atan(x);
    case MathFn::Sinh: return std::sinh(x);
    case MathFn::Cosh: return std::cosh(x);
    case MathFn::Tanh: return std::tanh(x);
    case MathFn::Asinh: return std::asinh(x);
    case MathFn::Acosh: return std::acosh(x);
    case MathFn::Atanh: return std::atanh(x);
    case MathFn::Erf: return std::erf(x);
    case MathFn::Floor: return std::floor(x);
    case MathFn::Ceil: return std::ceil(x);
    case MathFn::Round: return std::nearbyint(x);
    case MathFn::Trunc: return std::trunc(x);
    default: throw InternalError("math1: not a function of one float");
  }
}

/// a * b + c rounded once to `elem`. Rounding the f64 fma again would round twice; rounding to odd
/// first keeps the second rounding right: of two neighbours, the one whose last bit is set.
double fma_to(Elem elem, double a, double b, double c) {
  if (elem == Elem::F64) return std::fma(a, b, c);
  volatile double x = a, y = b, z = c;  // keeps the operation inside the rounding mode
  std::fesetround(FE_DOWNWARD);
  volatile double down = std::fma(x, y, z);
  std::fesetround(FE_UPWARD);
  volatile double up = std::fma(x, y, z);
  std::fesetround(FE_TONEAREST);
  const double lo = down, hi = up;
  if (lo == hi && lo == 0) return std::fma(a, b, c);  // the sign of zero follows nearest
  return round_to(elem, std::bit_cast<uint64_t>(lo) & 1 ? lo : hi);
}

}  // namespace

int64_t wrap_int(Elem elem, int64_t v) {
  if (elem == Elem::Bool) return v != 0;
  const int unused = 64 - bits(elem);
  const uint64_t up = static_cast<uint64_t>(v) << unused;
  return is_signed(elem) ? static_cast<int64_t>(up) >> unused : static_cast<int64_t>(up >> unused);
}

double round_to(Elem elem, double v) {
  if (elem == Elem::F64) return v;
  if (elem == Elem::F32) return static_cast<double>(static_cast<float>(v));
  if (elem == Elem::F8E8M0) return round_e8m0(v);
  return round_generic(format_of(elem), v);
}

double greatest_finite(Elem elem) {
  return elem == Elem::F8E8M0 ? std::ldexp(1.0, 127) : format_of(elem).max_finite;
}

double least_value(Elem elem) {
  if (elem == Elem::F8E8M0) return std::ldexp(1.0, -127);
  const Format f = format_of(elem);
  return f.has_inf ? -std::numeric_limits<double>::infinity() : -f.max_finite;
}

uint64_t float_to_bits(Elem elem, double v) {
  if (elem == Elem::F64) return std::bit_cast<uint64_t>(v);
  if (elem == Elem::F32) return std::bit_cast<uint32_t>(static_cast<float>(v));
  if (elem == Elem::F8E8M0) {
    v = round_e8m0(v);
    return std::isnan(v) ? 0xff : static_cast<uint64_t>(std::ilogb(v) + 127);
  }
  const Format f = format_of(elem);
  const int e = f.exponent_bits, m = f.mantissa_bits;
  v = round_generic(f, v);
  const uint64_t sign = static_cast<uint64_t>(std::signbit(v)) << (e + m);
  const uint64_t all_ones = (uint64_t{1} << e) - 1;
  if (std::isnan(v)) {
    if (f.fnuz) return uint64_t{1} << (e + m);
    return f.has_inf ? (all_ones << m) | (uint64_t{1} << (m - 1))
                     : (all_ones << m) | ((uint64_t{1} << m) - 1);
  }
  if (std::isinf(v)) return sign | (all_ones << m);
  if (v == 0) return sign;
  int exponent;
  const double half = std::frexp(std::fabs(v), &exponent);
  const int stored = exponent - 1 + f.bias;
  if (stored <= 0)  // subnormal: the value counts quanta
    return sign | static_cast<uint64_t>(std::ldexp(std::fabs(v), f.bias - 1 + m));
  const auto mantissa = static_cast<uint64_t>(std::ldexp(half * 2 - 1, m));
  return sign | (static_cast<uint64_t>(stored) << m) | mantissa;
}

double float_from_bits(Elem elem, uint64_t b) {
  if (elem == Elem::F64) return std::bit_cast<double>(b);
  if (elem == Elem::F32) return std::bit_cast<float>(static_cast<uint32_t>(b));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (elem == Elem::F8E8M0)
    return (b & 0xff) == 0xff ? kNan : std::ldexp(1.0, static_cast<int>(b & 0xff) - 127);
  const Format f = format_of(elem);
  const int e = f.exponent_bits, m = f.mantissa_bits;
  const bool negative = (b >> (e + m)) & 1;
  const auto stored = static_cast<int>((b >> m) & ((1u << e) - 1));
  const uint64_t mantissa = b & ((uint64_t{1} << m) - 1);
  if (f.fnuz && negative && stored == 0 && mantissa == 0) return kNan;
  double v;
  if (f.has_inf && stored == (1 << e) - 1) {
    if (mantissa != 0) return kNan;
    v = std::numeric_limits<double>::infinity();
  } else if (elem == Elem::F8E4M3 && stored == (1 << e) - 1 && mantissa == (1u << m) - 1) {
    return kNan;
  } else if (stored == 0) {
    v = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - m);
  } else {
    v = std::ldexp(1.0 + std::ldexp(static_cast<double>(mantissa), -m), stored - f.bias);
  }
  return negative ? -v : v;
}

int64_t int_binary(BinaryOp op, Elem elem, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool uns = !is_signed(elem);
  const auto wrap = [&](uint64_t v) { return wrap_int(elem, static_cast<int64_t>(v)); };
  switch (op) {
    case BinaryOp::Add: return wrap(ua + ub);
    case BinaryOp::Sub: return wrap(ua - ub);
    case BinaryOp::Mul: return wrap(ua * ub);
    case BinaryOp::Div:
      if (b == 0) return 0;
      if (uns) return wrap(ua / ub);
      return b == -1 ? wrap(0 - ua) : floor_div(a, b);
    case BinaryOp::Mod:
      if (b == 0) return 0;
      if (uns) return wrap(ua % ub);
      return b == -1 ? 0 : a - floor_div(a, b) * b;
    case BinaryOp::Min: return (uns ? ub < ua : b < a) ? b : a;
    case BinaryOp::Max: return (uns ? ua < ub : a < b) ? b : a;
    case BinaryOp::BitAnd: return a & b;
    case BinaryOp::BitOr: return a | b;
    case BinaryOp::BitXor: return wrap(ua ^ ub);
    case BinaryOp::Shl: return ub >= static_cast<uint64_t>(bits(elem)) ? 0 : wrap(ua << ub);
    case BinaryOp::Shr:
      if (ub >= static_cast<uint64_t>(bits(elem))) return !uns && a < 0 ? -1 : 0;
      return uns ? wrap(ua >> ub) : a >> ub;
    case BinaryOp::And: return a && b;
    case BinaryOp::Or: return a || b;
    case BinaryOp::Eq: return a == b;
    case BinaryOp::Ne: return a != b;
    case BinaryOp::Lt: return uns ? ua < ub : a < b;
    case BinaryOp::Le: return uns ? ua <= ub : a <= b;
  }
  __builtin_unreachable();
}

int64_t int_unary(UnaryOp op, Elem elem, int64_t a) {
  switch (op) {
    case UnaryOp::Neg: return wrap_int(elem, static_cast<int64_t>(0 - static_cast<uint64_t>(a)));
    case UnaryOp::Not: return a == 0;
    case UnaryOp::BitNot: return wrap_int(elem, ~a);
    case UnaryOp::Abs:
      return is_signed(elem) && a < 0
                 ? wrap_int(elem, static_cast<int64_t>(0 - static_cast<uint64_t>(a)))
                 : a;
  }
  __builtin_unreachable();
}

int64_t int_call(MathFn fn, Elem elem, int64_t a) {
  const int unused = 64 - bits(elem);
  const uint64_t low = (static_cast<uint64_t>(a) << unused) >> unused;
  if (fn == MathFn::Popcount) return wrap_int(elem, std::popcount(low));
  require(fn == MathFn::Clz, "int_call: not an integer function");
  return wrap_int(elem, std::countl_zero(low) - unused);
}

double float_binary(BinaryOp op, Elem elem, double a, double b) {
  switch (op) {
    // Innocuous double rounding: f64 has more than twice the bits of every smaller type plus two.
    case BinaryOp::Add: return round_to(elem, a + b);
    case BinaryOp::Sub: return round_to(elem, a - b);
    case BinaryOp::Mul: return round_to(elem, a * b);
    case BinaryOp::Div: return round_to(elem, a / b);
    case BinaryOp::Min: return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a;
    case BinaryOp::Max: return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a;
    default: throw InternalError("float_binary: not an operator of floats");
  }
}

bool float_compare(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Eq: return a == b;
    case BinaryOp::Ne: return a != b;
    case BinaryOp::Lt: return a < b;
    case BinaryOp::Le: return a <= b;
    default: throw InternalError("float_compare: not a comparison");
  }
}

double float_unary(UnaryOp op, Elem elem, double a) {
  if (op == UnaryOp::Neg) return round_to(elem, -a);  // -0 does not exist in every type
  require(op == UnaryOp::Abs, "float_unary: not an operator of floats");
  return std::fabs(a);
}

double float_call(MathFn fn, Elem elem, const double* args) {
  switch (fn) {
    case MathFn::IsNan: return std::isnan(args[0]);
    case MathFn::IsInf: return std::isinf(args[0]);
    case MathFn::Pow: return round_to(elem, std::pow(args[0], args[1]));
    case MathFn::Atan2: return round_to(elem, std::atan2(args[0], args[1]));
    case MathFn::Fmod: return round_to(elem, std::fmod(args[0], args[1]));
    case MathFn::CopySign: return round_to(elem, std::copysign(args[0], args[1]));
    case MathFn::Fma: return fma_to(elem, args[0], args[1], args[2]);
    default: return round_to(elem, math1(fn, args[0]));
  }
}

int64_t float_to_int(Elem to, double v) {
  if (to == Elem::Bool) return v != 0;
  if (std::isnan(v)) return 0;
  const double t = std::trunc(v);
  if (is_signed(to)) {
    const auto lo = static_cast<double>(int_min(to));
    const auto hi = static_cast<double>(int_max(to));  // 2^63 - 1 rounds up to 2^63
    if (t < lo) return int_min(to);
    if (t >= hi) return static_cast<int64_t>(int_max(to));
    return static_cast<int64_t>(t);
  }
  if (t <= 0) return 0;
  if (t >= static_cast<double>(int_max(to))) return static_cast<int64_t>(int_max(to));
  return static_cast<int64_t>(static_cast<uint64_t>(t));
}

double int_to_float(Elem from, Elem to, int64_t v) {
  // Through f64 a 64-bit integer would be rounded twice; f32 has a conversion of its own, and for
  // the shorter types rounding to odd in f64 keeps the second rounding right.
  const bool uns = !is_signed(from);
  const auto u = static_cast<uint64_t>(v);
  if (to == Elem::F64) return uns ? static_cast<double>(u) : static_cast<double>(v);
  if (to == Elem::F32) return uns ? static_cast<float>(u) : static_cast<float>(v);
  const bool negative = !uns && v < 0;
  uint64_t magnitude = negative ? 0 - u : u;
  const int excess = std::max(0, 64 - std::countl_zero(magnitude) - 53);
  if (excess > 0) {
    const uint64_t lost = magnitude & ((uint64_t{1} << excess) - 1);
    magnitude = ((magnitude >> excess) | (lost != 0)) << excess;
  }
  const auto exact = static_cast<double>(magnitude);
  return round_to(to, negative ? -exact : exact);
}

}  // namespace tilewright::ir
