// SPDX-License-Identifier: Apache-2.0
// Lanes with operators, so that the formulas of the functions read as such. Every operation is one
// instruction on all lanes and rounds as written: nothing here may be contracted or re-ordered.
#pragma once

#include <initializer_list>
#include <iterator>

#include "target/llvm/lanes.h"

namespace tilewright::target::llvm {

/// Lanes of integers.
struct Int {
  Lanes* b;
  ll::Value* v;

  Int of(uint64_t c) const { return {b, b->integer(v->getType(), c)}; }
};
inline Int operator+(Int x, Int y) { return {x.b, x.b->CreateAdd(x.v, y.v)}; }
inline Int operator-(Int x, Int y) { return {x.b, x.b->CreateSub(x.v, y.v)}; }
inline Int operator&(Int x, Int y) { return {x.b, x.b->CreateAnd(x.v, y.v)}; }
inline Int operator|(Int x, Int y) { return {x.b, x.b->CreateOr(x.v, y.v)}; }
inline Int operator^(Int x, Int y) { return {x.b, x.b->CreateXor(x.v, y.v)}; }
inline Int operator+(Int x, uint64_t c) { return x + x.of(c); }
inline Int operator-(Int x, uint64_t c) { return x - x.of(c); }
inline Int operator&(Int x, uint64_t c) { return x & x.of(c); }
inline Int operator<<(Int x, uint64_t n) { return {x.b, x.b->CreateShl(x.v, n)}; }
/// Keeps the sign.
inline Int operator>>(Int x, uint64_t n) { return {x.b, x.b->CreateAShr(x.v, n)}; }
/// Of what has none: 64 bits need AVX-512 to keep it.
inline Int halved(Int x) { return {x.b, x.b->CreateLShr(x.v, 1)}; }

/// Lanes of f32 or of f64.
struct Num {
  Lanes* b;
  ll::Value* v;

  bool wide() const { return v->getType()->getScalarType()->isDoubleTy(); }
  Num of(double c) const { return {b, b->real(v->getType(), c)}; }
  Num inf() const { return {b, ll::ConstantFP::getInfinity(v->getType())}; }
  Num nan() const { return {b, ll::ConstantFP::getNaN(v->getType())}; }
  ll::Type* int_type() const { return b->like(v, b->getIntNTy(wide() ? 64 : 32)); }
  Int bits() const { return {b, b->CreateBitCast(v, int_type())}; }
  /// The bits of a float as one of this type.
  Num from_bits(Int i) const { return {b, b->CreateBitCast(i.v, v->getType())}; }
  Num from_int(Int i) const { return {b, b->CreateSIToFP(i.v, v->getType())}; }
};
inline Num operator+(Num x, Num y) { return {x.b, x.b->CreateFAdd(x.v, y.v)}; }
inline Num operator-(Num x, Num y) { return {x.b, x.b->CreateFSub(x.v, y.v)}; }
inline Num operator*(Num x, Num y) { return {x.b, x.b->CreateFMul(x.v, y.v)}; }
inline Num operator/(Num x, Num y) { return {x.b, x.b->CreateFDiv(x.v, y.v)}; }
inline Num operator-(Num x) { return {x.b, x.b->CreateFNeg(x.v)}; }
inline Num operator+(Num x, double c) { return x + x.of(c); }
inline Num operator-(Num x, double c) { return x - x.of(c); }
inline Num operator*(Num x, double c) { return x * x.of(c); }
inline Num operator-(double c, Num x) { return x.of(c) - x; }
inline Num operator/(double c, Num x) { return x.of(c) / x; }

inline Num fma(Num x, Num y, Num z) {
  return {x.b, x.b->CreateIntrinsic(ll::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v})};
}
inline Num fma(Num x, double y, Num z) { return fma(x, x.of(y), z); }
inline Num fma(Num x, Num y, double z) { return fma(x, y, x.of(z)); }
inline Num fma(Num x, double y, double z) { return fma(x, x.of(y), x.of(z)); }
inline Num sqrt(Num x) { return {x.b, x.b->CreateUnaryIntrinsic(ll::Intrinsic::sqrt, x.v)}; }
inline Num abs(Num x) { return {x.b, x.b->CreateUnaryIntrinsic(ll::Intrinsic::fabs, x.v)}; }
inline Num trunc(Num x) { return {x.b, x.b->CreateUnaryIntrinsic(ll::Intrinsic::trunc, x.v)}; }
inline Num copysign(Num x, Num sign) {
  return {x.b, x.b->CreateBinaryIntrinsic(ll::Intrinsic::copysign, x.v, sign.v)};
}

/// c0 + c1 x + c2 x² + …
inline Num poly(Num x, std::initializer_list<double> c) {
  auto it = std::rbegin(c);
  Num sum = x.of(*it++);
  for (; it != std::rend(c); ++it) sum = fma(sum, x, *it);
  return sum;
}

/// Lanes of truth; comparisons with NaN are false.
struct Mask {
  Lanes* b;
  ll::Value* v;
};
inline Mask operator<(Num x, Num y) { return {x.b, x.b->CreateFCmpOLT(x.v, y.v)}; }
inline Mask operator>(Num x, Num y) { return y < x; }
inline Mask operator>=(Num x, Num y) { return {x.b, x.b->CreateFCmpOGE(x.v, y.v)}; }
inline Mask operator==(Num x, Num y) { return {x.b, x.b->CreateFCmpOEQ(x.v, y.v)}; }
inline Mask operator<(Num x, double c) { return x < x.of(c); }
inline Mask operator>(Num x, double c) { return x > x.of(c); }
inline Mask operator>=(Num x, double c) { return x >= x.of(c); }
inline Mask operator==(Num x, double c) { return x == x.of(c); }
inline Mask is_nan(Num x) { return {x.b, x.b->CreateFCmpUNO(x.v, x.v)}; }
inline Mask operator&(Mask p, Mask q) { return {p.b, p.b->CreateAnd(p.v, q.v)}; }
inline Mask operator|(Mask p, Mask q) { return {p.b, p.b->CreateOr(p.v, q.v)}; }
inline Mask operator!(Mask p) { return {p.b, p.b->CreateNot(p.v)}; }
inline Mask nonzero(Int x) { return {x.b, x.b->CreateICmpNE(x.v, x.of(0).v)}; }
inline Mask negative(Int x) { return {x.b, x.b->CreateICmpSLT(x.v, x.of(0).v)}; }

inline Num select(Mask m, Num x, Num y) { return {x.b, x.b->CreateSelect(m.v, x.v, y.v)}; }
inline Num select(Mask m, Num x, double c) { return select(m, x, x.of(c)); }
inline Num select(Mask m, double c, Num y) { return select(m, y.of(c), y); }
inline Int select(Mask m, Int x, Int y) { return {x.b, x.b->CreateSelect(m.v, x.v, y.v)}; }

/// x where it lies between the bounds, else the nearer one; NaN stays.
inline Num clamp(Num x, double low, double high) {
  const Num up = select(x < low, low, x);
  return select(up > high, high, up);
}

/// f32 lanes as f64 and back.
inline Num widen(Num x) { return {x.b, x.b->CreateFPExt(x.v, x.b->like(x.v, x.b->getDoubleTy()))}; }
inline Num narrow(Num x) {
  return {x.b, x.b->CreateFPTrunc(x.v, x.b->like(x.v, x.b->getFloatTy()))};
}

}  // namespace tilewright::target::llvm
