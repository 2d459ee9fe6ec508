// SPDX-License-Identifier: Apache-2.0
// Errors of functions in units in the last place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/ops.h"
#include "ir/type.h"

namespace tilewright::target::llvm {

/// |got - exact| in ulps of the float type at `exact`; inf when one is NaN, or infinite where the
/// other rounds to a number.
inline double ulp_error(ir::Elem elem, double got, long double exact) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : kInf;
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : kInf;
  const ir::ElemInfo& f = ir::info(elem);
  const int top = (1 << (f.exponent_bits - 1)) - 1, bottom = 1 - top;
  const long double limit = std::ldexp(1.0L, top + 1) - std::ldexp(1.0L, top - f.mantissa_bits - 1);
  if (std::isinf(got)) {
    // A value within half an ulp below the limit may round up.
    return std::signbit(got) == std::signbit(exact) &&
                   std::fabs(exact) >= limit - 2 * std::ldexp(1.0L, top - f.mantissa_bits)
               ? 0
               : kInf;
  }
  if (std::isinf(exact)) return kInf;
  int e = 0;
  std::frexp(exact, &e);
  const int quantum = std::max(e - 1, bottom) - f.mantissa_bits;
  return static_cast<double>(
      std::ldexp(std::fabs(static_cast<long double>(got) - exact), -quantum));
}

/// The function in long double: the oracle of f64, and of f32 where double would do as well.
inline long double exact_call(ir::MathFn fn, long double x, long double y = 0) {
  switch (fn) {
    case ir::MathFn::Exp: return std::exp(x);
    case ir::MathFn::Exp2: return std::exp2(x);
    case ir::MathFn::Expm1: return std::expm1(x);
    case ir::MathFn::Log: return std::log(x);
    case ir::MathFn::Log2: return std::log2(x);
    case ir::MathFn::Log1p: return std::log1p(x);
    case ir::MathFn::Sqrt: return std::sqrt(x);
    case ir::MathFn::Rsqrt: return 1 / std::sqrt(x);
    case ir::MathFn::Sin: return std::sin(x);
    case ir::MathFn::Cos: return std::cos(x);
    case ir::MathFn::Tan: return std::tan(x);
    case ir::MathFn::Asin: return std::asin(x);
    case ir::MathFn::Acos: return std::acos(x);
    case ir::MathFn::Atan: return std::atan(x);
    case ir::MathFn::Sinh: return std::sinh(x);
    case ir::MathFn::Cosh: return std::cosh(x);
    case ir::MathFn::Tanh: return std::tanh(x);
    case ir::MathFn::Asinh: return std::asinh(x);
    case ir::MathFn::Acosh: return std::acosh(x);
    case ir::MathFn::Atanh: return std::atanh(x);
    case ir::MathFn::Erf: return std::erf(x);
    case ir::MathFn::Pow: return std::pow(x, y);
    case ir::MathFn::Atan2: return std::atan2(x, y);
    case ir::MathFn::Fmod: return std::fmod(x, y);
    default: return std::numeric_limits<long double>::quiet_NaN();
  }
}

constexpr ir::MathFn kApproximate[] = {
    ir::MathFn::Exp,   ir::MathFn::Exp2, ir::MathFn::Expm1, ir::MathFn::Log,   ir::MathFn::Log2,
    ir::MathFn::Log1p, ir::MathFn::Sqrt, ir::MathFn::Rsqrt, ir::MathFn::Sin,   ir::MathFn::Cos,
    ir::MathFn::Tan,   ir::MathFn::Asin, ir::MathFn::Acos,  ir::MathFn::Atan,  ir::MathFn::Sinh,
    ir::MathFn::Cosh,  ir::MathFn::Tanh, ir::MathFn::Asinh, ir::MathFn::Acosh, ir::MathFn::Atanh,
    ir::MathFn::Erf};

}  // namespace tilewright::target::llvm
