// SPDX-License-Identifier: Apache-2.0
// The functions of the loop IR by name, on single elements and on whole tensors: `exp(A(i))`,
// `exp(A)`.
#pragma once

#include "te/elementwise.h"
#include "te/expr.h"

namespace tilewright::te {

// clang-format off
#define TW_TE_FUNCTIONS(X)                                                                        \
  X(exp, Exp) X(exp2, Exp2) X(expm1, Expm1) X(log, Log) X(log2, Log2) X(log1p, Log1p)             \
  X(sqrt, Sqrt) X(rsqrt, Rsqrt) X(sin, Sin) X(cos, Cos) X(tan, Tan) X(asin, Asin) X(acos, Acos)   \
  X(atan, Atan) X(sinh, Sinh) X(cosh, Cosh) X(tanh, Tanh) X(asinh, Asinh) X(acosh, Acosh)         \
  X(atanh, Atanh) X(erf, Erf) X(floor, Floor) X(ceil, Ceil) X(round, Round) X(trunc, Trunc)       \
  X(isnan, IsNan) X(isinf, IsInf) X(popcount, Popcount) X(clz, Clz)
// clang-format on

#define X(name, fn)                                                         \
  inline Expr name(const Expr& x) { return call(ir::MathFn::fn, {x}); }     \
  inline Tensor name(const Tensor& t) {                                     \
    return map(t, [](const Expr& x) { return call(ir::MathFn::fn, {x}); }); \
  }
TW_TE_FUNCTIONS(X)
#undef X
#undef TW_TE_FUNCTIONS

inline Expr pow(const Expr& x, const Expr& y) { return call(ir::MathFn::Pow, {x, y}); }
inline Expr atan2(const Expr& y, const Expr& x) { return call(ir::MathFn::Atan2, {y, x}); }
inline Expr fmod(const Expr& x, const Expr& y) { return call(ir::MathFn::Fmod, {x, y}); }
inline Expr copysign(const Expr& x, const Expr& y) { return call(ir::MathFn::CopySign, {x, y}); }
/// x * y + z, rounded once.
inline Expr fma(const Expr& x, const Expr& y, const Expr& z) {
  return call(ir::MathFn::Fma, {x, y, z});
}

}  // namespace tilewright::te
