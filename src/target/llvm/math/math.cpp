// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/math.h"

#include "support/diagnostic.h"
#include "target/llvm/convert.h"
#include "target/llvm/float_ops.h"
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

using ir::MathFn;

Num intrinsic(Num x, ll::Intrinsic::ID id) { return {x.b, x.b->CreateUnaryIntrinsic(id, x.v)}; }

/// Functions of f64, or of f32 where there is a formula for it.
Num direct(MathFn fn, Num x, Num y) {
  switch (fn) {
    case MathFn::Exp: return exp_of(x);
    case MathFn::Exp2: return exp2_of(x);
    case MathFn::Expm1: return expm1_of(x);
    case MathFn::Log: return log_of(x);
    case MathFn::Log2: return log2_of(x);
    case MathFn::Log1p: return log1p_of(x);
    case MathFn::Sqrt: return sqrt(x);
    case MathFn::Rsqrt: return 1.0 / sqrt(x);
    case MathFn::Sin: return sin_of(x, Accuracy::F64);
    case MathFn::Cos: return cos_of(x, Accuracy::F64);
    case MathFn::Tan: return tan_of(x, Accuracy::F64);
    case MathFn::Asin: return asin_of(x);
    case MathFn::Acos: return acos_of(x);
    case MathFn::Atan: return atan_of(x);
    case MathFn::Sinh: return sinh_of(x);
    case MathFn::Cosh: return cosh_of(x);
    case MathFn::Tanh: return tanh_of(x);
    case MathFn::Asinh: return asinh_of(x);
    case MathFn::Acosh: return acosh_of(x);
    case MathFn::Atanh: return atanh_of(x);
    case MathFn::Erf: return erf_of(x);
    case MathFn::Floor: return intrinsic(x, ll::Intrinsic::floor);
    case MathFn::Ceil: return intrinsic(x, ll::Intrinsic::ceil);
    case MathFn::Round: return intrinsic(x, ll::Intrinsic::roundeven);
    case MathFn::Trunc: return trunc(x);
    case MathFn::Pow: return pow_of(x, y);
    case MathFn::Atan2: return atan2_of(x, y);
    case MathFn::Fmod: return fmod_of(x, y);
    case MathFn::CopySign: return copysign(x, y);
    default: throw InternalError("float_call: not a function of floats");
  }
}

/// Functions of f32 that are computed in f64 and rounded once: too rare for formulas of their own.
bool through_f64(MathFn fn) {
  switch (fn) {
    case MathFn::Log1p:
    case MathFn::Asin:
    case MathFn::Acos:
    case MathFn::Atan:
    case MathFn::Sinh:
    case MathFn::Cosh:
    case MathFn::Asinh:
    case MathFn::Acosh:
    case MathFn::Atanh:
    case MathFn::Pow:
    case MathFn::Atan2:
    case MathFn::Fmod: return true;
    default: return false;
  }
}

Num of_f32(MathFn fn, Num x, Num y) {
  switch (fn) {
    case MathFn::Sin: return narrow(sin_of(widen(x), Accuracy::F32));
    case MathFn::Cos: return narrow(cos_of(widen(x), Accuracy::F32));
    case MathFn::Tan: return narrow(tan_of(widen(x), Accuracy::F32));
    default: break;
  }
  if (!through_f64(fn)) return direct(fn, x, y);
  // Rounded to f32 for good: where f16 follows, LLVM would round once from f64, by a library.
  const Num rounded = narrow(direct(fn, widen(x), widen(y)));
  return Num{x.b, x.b->CreateArithmeticFence(rounded.v, rounded.v->getType())};
}

}  // namespace

ll::Value* float_call(Lanes& b, MathFn fn, ir::Elem elem, const std::vector<ll::Value*>& args) {
  if (fn == MathFn::Fma) return float_fma(b, elem, args[0], args[1], args[2]);
  ll::IRBuilder<>::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  const bool small = is_small_float(elem);
  const auto lanes = [&](ll::Value* v) { return Num{&b, small ? widen(b, elem, v) : v}; };
  const Num x = lanes(args[0]);
  if (fn == MathFn::IsNan) return is_nan(x).v;
  if (fn == MathFn::IsInf) return (abs(x) == x.inf()).v;
  const Num y = args.size() > 1 ? lanes(args[1]) : x;
  const Num result = x.wide() ? direct(fn, x, y) : of_f32(fn, x, y);
  return small ? narrow(b, elem, result.v) : result.v;
}

}  // namespace tilewright::target::llvm
