// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/convert.h"

#include <cmath>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IntrinsicsX86.h"

#include "ir/scalar.h"
#include "support/diagnostic.h"

namespace tilewright::target::llvm {
namespace {

using ir::Elem;

/// A float format of at most 16 bits, with a smaller range than f32.
struct Format {
  int mantissa;  // bits, without the hidden one
  int bias;
  uint32_t max_finite;     // bits of the greatest magnitude
  uint32_t nan, overflow;  // bits of what stands for them; the sign is added to overflow
  bool fnuz;               // 0x80 is NaN, and there is no -0
};

Format format_of(Elem e) {
  switch (e) {
    case Elem::F16: return {10, 15, 0x7bff, 0x7e00, 0x7c00, false};
    case Elem::F8E5M2: return {2, 15, 0x7b, 0x7e, 0x7c, false};
    case Elem::F8E4M3: return {3, 7, 0x7e, 0x7f, 0x7f, false};
    case Elem::F8E5M2FNUZ: return {2, 16, 0x7f, 0x80, 0x80, true};
    case Elem::F8E4M3FNUZ: return {3, 8, 0x7f, 0x80, 0x80, true};
    case Elem::F4E2M1: return {1, 1, 0x7, 0x8, 0x7, false};
    default: throw InternalError("format_of: not a small float");
  }
}

/// RISC-V without Zfh is the one target that cannot convert f16.
bool converts_f16(const Lanes& b) { return !b.spec.isa.has(ir::Isa::Rvv); }

ll::Value* as_float(Lanes& b, ll::Value* i32) {
  return b.CreateBitCast(i32, b.like(i32, b.getFloatTy()));
}
ll::Value* as_int(Lanes& b, ll::Value* f32) {
  return b.CreateBitCast(f32, b.like(f32, b.getInt32Ty()));
}

/// Powers of two: the bits are a float's exponent, but 0 is 2^-127 and 0xff NaN.
ll::Value* widen_e8m0(Lanes& b, ll::Value* bits) {
  ll::Type* i32 = b.like(bits, b.getInt32Ty());
  ll::Value* all = b.CreateZExt(bits, i32);
  ll::Value* value = b.CreateSelect(b.CreateICmpEQ(all, b.integer(i32, 0)),
                                    b.integer(i32, 0x00400000), b.CreateShl(all, 23));
  ll::Value* is_nan = b.CreateICmpEQ(all, b.integer(i32, 0xff));
  return as_float(b, b.CreateSelect(is_nan, b.integer(i32, 0x7fc00000), value));
}

ll::Value* narrow_e8m0(Lanes& b, ll::Value* f32) {
  ll::Value* all = as_int(b, f32);
  ll::Type* i32 = all->getType();
  // Half of the mantissa rounds up. 1.5 * 2^127 and what is greater, NaN or negative gives NaN.
  ll::Value* power = b.CreateLShr(b.CreateAdd(all, b.integer(i32, 0x00400000)), 23);
  ll::Value* beyond = b.CreateICmpUGE(all, b.integer(i32, 0x7f400000));
  power = b.CreateSelect(beyond, b.integer(i32, 0xff), power);
  ll::Value* to_least = b.CreateICmpULT(all, b.integer(i32, 0x00600000));  // 1.5 * 2^-127
  ll::Value* is_zero = b.CreateICmpEQ(all, b.integer(i32, 0x80000000));
  ll::Value* least = b.CreateOr(to_least, is_zero);
  return b.CreateTrunc(b.CreateSelect(least, b.integer(i32, 0), power), b.like(f32, b.getInt8Ty()));
}

}  // namespace

ll::Value* widen(Lanes& b, Elem from, ll::Value* bits) {
  ll::Type* f32 = b.like(bits, b.getFloatTy());
  ll::Type* i32 = b.like(bits, b.getInt32Ty());
  if (from == Elem::BF16) return as_float(b, b.CreateShl(b.CreateZExt(bits, i32), 16));
  if (from == Elem::F8E8M0) return widen_e8m0(b, bits);
  if (from == Elem::F16 && converts_f16(b))
    return b.CreateFPExt(b.CreateBitCast(bits, b.like(bits, b.getHalfTy())), f32);

  const Format f = format_of(from);
  const int width = ir::bits(from);
  ll::Value* all = b.CreateZExt(bits, i32);
  ll::Value* magnitude = b.CreateAnd(all, b.integer(i32, (1u << (width - 1)) - 1));
  // Exponent and mantissa stand at float's places; the factor corrects the bias, subnormals too.
  ll::Value* scaled = b.CreateFMul(
      as_float(b, b.CreateShl(magnitude, b.integer(i32, static_cast<uint64_t>(23 - f.mantissa)))),
      b.real(f32, std::ldexp(1.0, 127 - f.bias)));
  ll::Value* sign = b.CreateShl(b.CreateAnd(all, b.integer(i32, 1u << (width - 1))),
                                b.integer(i32, static_cast<uint64_t>(32 - width)));
  ll::Value* value = b.CreateOr(as_int(b, scaled), sign);
  if (f.fnuz) {
    ll::Value* is_nan = b.CreateICmpEQ(all, b.integer(i32, f.nan));
    return as_float(b, b.CreateSelect(is_nan, b.integer(i32, 0x7fc00000), value));
  }
  if (f.overflow == f.max_finite) return as_float(b, value);
  // What lies above the greatest finite value is inf (when the format has one), then NaN.
  ll::Value* is_nan =
      b.CreateICmpUGT(magnitude, b.integer(i32, f.overflow == f.nan ? f.max_finite : f.overflow));
  value = b.CreateSelect(is_nan, b.integer(i32, 0x7fc00000), value);
  if (f.overflow != f.nan) {
    ll::Value* is_inf = b.CreateICmpEQ(magnitude, b.integer(i32, f.overflow));
    value = b.CreateSelect(is_inf, b.CreateOr(sign, b.integer(i32, 0x7f800000)), value);
  }
  return as_float(b, value);
}

/// By the machine's instruction, which takes subnormals as 0; null when it has none for as many
/// lanes.
static ll::Value* narrow_bf16_flushing(Lanes& b, ll::Value* f32) {
  const int lanes = Lanes::lanes_of(f32), whole = lanes == 8 ? 8 : 16;
  if (b.subnormals || !b.spec.isa.has(ir::Isa::Avx512Bf16) || lanes % whole != 0) return nullptr;
  const ll::Intrinsic::ID id = whole == 8 ? ll::Intrinsic::x86_avx512bf16_cvtneps2bf16_256
                                          : ll::Intrinsic::x86_avx512bf16_cvtneps2bf16_512;
  ll::SmallVector<ll::Value*> parts;
  for (int first = 0; first < lanes; first += whole) {
    ll::Value* part = lanes == whole ? f32 : b.some_lanes(f32, first, whole);
    ll::Value* bf16 = b.CreateIntrinsic(id, {}, {part});
    parts.push_back(b.CreateBitCast(bf16, b.like(bf16, b.getInt16Ty())));
  }
  return parts.size() == 1 ? parts[0] : ll::concatenateVectors(b, parts);
}

/// bf16 is the upper half of an f32: rounding carries into the exponent, up to infinity.
static ll::Value* narrow_bf16(Lanes& b, ll::Value* f32) {
  ll::Type* i32 = b.like(f32, b.getInt32Ty());
  ll::Value* all = as_int(b, f32);
  ll::Value* even = b.CreateAnd(b.CreateLShr(all, b.integer(i32, 16)), b.integer(i32, 1));
  ll::Value* rounded = b.CreateAdd(b.CreateAdd(all, b.integer(i32, 0x7fff)), even);
  ll::Value* result =
      b.CreateSelect(b.CreateFCmpUNO(f32, f32), b.integer(i32, 0x7fc00000), rounded);
  return b.CreateTrunc(b.CreateLShr(result, b.integer(i32, 16)), b.like(f32, b.getInt16Ty()));
}

ll::Value* narrow(Lanes& b, Elem to, ll::Value* f32) {
  if (to == Elem::BF16) {
    ll::Value* flushed = narrow_bf16_flushing(b, f32);
    return flushed ? flushed : narrow_bf16(b, f32);
  }
  ll::Type* i32 = b.like(f32, b.getInt32Ty());
  ll::Type* bits_type = b.like(f32, b.element(to));
  if (to == Elem::F8E8M0) return narrow_e8m0(b, f32);
  if (to == Elem::F16 && converts_f16(b)) {
    // LLVM rounds before it takes over a sign, and takes that from where it comes from: from an f64
    // it does so by a call of a library.
    ll::Value* whole = b.CreateArithmeticFence(f32, f32->getType());
    return b.CreateBitCast(b.CreateFPTrunc(whole, b.like(f32, b.getHalfTy())), bits_type);
  }

  const Format f = format_of(to);
  const int width = ir::bits(to);
  const int dropped = 23 - f.mantissa;
  ll::Value* all = as_int(b, f32);
  ll::Value* magnitude = b.CreateAnd(all, b.integer(i32, 0x7fffffff));
  ll::Value* sign = b.CreateLShr(b.CreateAnd(all, b.integer(i32, 0x80000000)),
                                 b.integer(i32, static_cast<uint64_t>(32 - width)));
  // Normal results: add half of what is dropped, less one for even, and cut.
  ll::Value* even = b.CreateAnd(
      b.CreateLShr(magnitude, b.integer(i32, static_cast<uint64_t>(dropped))), b.integer(i32, 1));
  ll::Value* rounded = b.CreateLShr(
      b.CreateAdd(b.CreateAdd(magnitude, b.integer(i32, (1u << (dropped - 1)) - 1)), even),
      b.integer(i32, static_cast<uint64_t>(dropped)));
  ll::Value* result =
      b.CreateSub(rounded, b.integer(i32, static_cast<uint64_t>(127 - f.bias) << f.mantissa));
  // Subnormal results: adding this number leaves the float's own addition to round at the
  // quantum.
  const double magic = std::ldexp(1.0, 23 + 1 - f.bias - f.mantissa);
  const auto magic_bits = static_cast<uint32_t>(ir::float_to_bits(Elem::F32, magic));
  ll::Value* sum = b.CreateFAdd(as_float(b, magnitude), b.real(f32->getType(), magic));
  ll::Value* subnormal = b.CreateSub(as_int(b, sum), b.integer(i32, magic_bits));
  const auto least =
      static_cast<uint32_t>(ir::float_to_bits(Elem::F32, std::ldexp(1.0, 1 - f.bias)));
  result = b.CreateSelect(b.CreateICmpULT(magnitude, b.integer(i32, least)), subnormal, result);
  // Signed: `result` of a tiny magnitude is chosen above, of a huge one it is large and positive.
  ll::Value* too_large = b.CreateICmpSGT(result, b.integer(i32, f.max_finite));
  result = b.CreateSelect(too_large, b.integer(i32, f.overflow), result);
  if (f.fnuz) {
    ll::Value* is_zero = b.CreateICmpEQ(result, b.integer(i32, 0));
    sign = b.CreateSelect(is_zero, b.integer(i32, 0), sign);
  }
  result = b.CreateOr(result, sign);
  ll::Value* is_nan = b.CreateICmpUGT(magnitude, b.integer(i32, 0x7f800000));
  result = b.CreateSelect(is_nan, b.integer(i32, f.nan), result);
  return b.CreateTrunc(result, bits_type);
}

ll::Value* round_to_odd_f32(Lanes& b, ll::Value* f64) {
  ll::Type* f64_type = f64->getType();
  ll::Value* near = b.CreateFPTrunc(f64, b.like(f64, b.getFloatTy()));
  ll::Value* back = b.CreateFPExt(near, f64_type);
  ll::Value* inexact = b.CreateFCmpONE(back, f64);
  ll::Value* away = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(ll::Intrinsic::fabs, back),
                                    b.CreateUnaryIntrinsic(ll::Intrinsic::fabs, f64));
  ll::Value* bits = as_int(b, near);
  ll::Value* toward_zero = b.CreateSub(bits, b.CreateZExt(away, bits->getType()));
  ll::Value* odd = b.CreateOr(toward_zero, b.integer(bits->getType(), 1));
  return as_float(b, b.CreateSelect(inexact, odd, bits));
}

namespace {

ll::Value* float_to_float(Lanes& b, Elem from, Elem to, ll::Value* v) {
  if (is_small_float(from)) {
    v = widen(b, from, v);
    from = Elem::F32;
  }
  if (is_small_float(to)) return narrow(b, to, from == Elem::F64 ? round_to_odd_f32(b, v) : v);
  if (from == to) return v;
  return to == Elem::F64 ? b.CreateFPExt(v, b.like(v, b.getDoubleTy()))
                         : b.CreateFPTrunc(v, b.like(v, b.getFloatTy()));
}

/// i64 and u64 have more bits than a double: keeps the top 53 or so and says in the last one
/// whether anything was lost.
ll::Value* int64_to_odd_f64(Lanes& b, bool is_signed, ll::Value* v) {
  ll::Type* i64 = v->getType();
  ll::Type* f64 = b.like(v, b.getDoubleTy());
  ll::Value* negative = is_signed ? b.CreateICmpSLT(v, b.integer(i64, 0)) : nullptr;
  ll::Value* magnitude = negative ? b.CreateSelect(negative, b.CreateNeg(v), v) : v;
  ll::Value* high = b.CreateAnd(magnitude, b.integer(i64, ~uint64_t{0xfff}));
  ll::Value* lost =
      b.CreateICmpNE(b.CreateAnd(magnitude, b.integer(i64, 0xfff)), b.integer(i64, 0));
  ll::Value* sticky =
      b.CreateOr(high, b.CreateSelect(lost, b.integer(i64, 0x1000), b.integer(i64, 0)));
  ll::Value* large = b.CreateICmpUGE(magnitude, b.integer(i64, uint64_t{1} << 53));
  ll::Value* exact = b.CreateUIToFP(b.CreateSelect(large, sticky, magnitude), f64);
  return negative ? b.CreateSelect(negative, b.CreateFNeg(exact), exact) : exact;
}

ll::Value* int_to_float(Lanes& b, Elem from, Elem to, ll::Value* v) {
  const bool is_signed = ir::is_signed(from);
  const auto to_type = [&](ll::Type* t) {
    return is_signed ? b.CreateSIToFP(v, b.like(v, t)) : b.CreateUIToFP(v, b.like(v, t));
  };
  if (to == Elem::F64) return to_type(b.getDoubleTy());
  if (to == Elem::F32) return to_type(b.getFloatTy());
  // Integers that a float cannot hold exactly are beyond the range of all small floats but two.
  const bool far = to == Elem::BF16 || to == Elem::F8E8M0;
  if (!far || ir::bits(from) <= 16) return narrow(b, to, to_type(b.getFloatTy()));
  ll::Value* exact =
      ir::bits(from) == 64 ? int64_to_odd_f64(b, is_signed, v) : to_type(b.getDoubleTy());
  return narrow(b, to, round_to_odd_f32(b, exact));
}

/// LLVM takes the saturating conversions of x86 apart, lane by lane. What lies above the range is
/// selected away, so that its conversion may be poison; what lies below gives the lowest number.
ll::Value* saturated_in_lanes(Lanes& b, Elem to, ll::Value* v) {
  const bool is_signed = ir::is_signed(to);
  ll::Type* from = v->getType();
  ll::Type* t = b.like(v, b.element(to));
  ll::Value* low = b.real(from, static_cast<double>(ir::int_min(to)));
  ll::Value* beyond = b.real(from, std::ldexp(1.0, ir::bits(to) - (is_signed ? 1 : 0)));
  ll::Value* clamped = b.CreateSelect(b.CreateFCmpOLT(v, low), low, v);
  ll::Value* number = is_signed ? b.CreateFPToSI(clamped, t) : b.CreateFPToUI(clamped, t);
  ll::Value* highest = b.integer(t, static_cast<uint64_t>(ir::int_max(to)));
  number = b.CreateSelect(b.CreateFCmpOGE(v, beyond), highest, number);
  return b.CreateSelect(b.CreateFCmpUNO(v, v), b.integer(t, 0), number);
}

/// i32 of floats in its range by the machine's instruction, which gives the least i32 for NaN: 0 in
/// all types that are shorter. Null when it has none for as many lanes.
ll::Value* truncated(Lanes& b, ll::Value* f32) {
  if (!f32->getType()->getScalarType()->isFloatTy()) return nullptr;
  switch (Lanes::lanes_of(f32)) {
    case 16: {
      if (!b.spec.isa.has(ir::Isa::Avx512)) return nullptr;
      ll::Type* i32 = b.like(f32, b.getInt32Ty());
      return b.CreateIntrinsic(ll::Intrinsic::x86_avx512_mask_cvttps2dq_512, {},
                               {f32, ll::Constant::getNullValue(i32), b.getInt16(0xffff),
                                b.getInt32(4)});  // rounding as the machine is set
    }
    case 8:
      return b.spec.isa.has(ir::Isa::Avx2)
                 ? b.CreateIntrinsic(ll::Intrinsic::x86_avx_cvtt_ps2dq_256, {}, {f32})
                 : nullptr;
    default: return nullptr;
  }
}

/// Truncates, saturates, NaN gives 0.
ll::Value* float_to_int(Lanes& b, Elem to, ll::Value* v) {
  const bool is_signed = ir::is_signed(to);
  if (ir::bits(to) >= 32) {
    if (Lanes::lanes_of(v) > 1 && b.spec.isa.has(ir::Isa::Avx2))
      return saturated_in_lanes(b, to, v);
    ll::Type* t = b.like(v, b.element(to));
    return b.CreateIntrinsic(is_signed ? ll::Intrinsic::fptosi_sat : ll::Intrinsic::fptoui_sat,
                             {t, v->getType()}, {v});
  }
  // The bounds of short types are exact floats: clamp, then convert through i32, which vectors can
  // do.
  ll::Type* t = v->getType();
  ll::Value* low = b.real(t, static_cast<double>(ir::int_min(to)));
  ll::Value* high = b.real(t, static_cast<double>(ir::int_max(to)));
  ll::Value* v1 = b.CreateSelect(b.CreateFCmpOLT(v, low), low, v);
  ll::Value* v2 = b.CreateSelect(b.CreateFCmpOGT(v1, high), high, v1);
  if (ll::Value* i32 = truncated(b, v2)) return b.CreateTrunc(i32, b.like(v, b.element(to)));
  ll::Value* number = b.CreateSelect(b.CreateFCmpUNO(v, v), ll::Constant::getNullValue(t), v2);
  return b.CreateTrunc(b.CreateFPToSI(number, b.like(v, b.getInt32Ty())), b.like(v, b.element(to)));
}

}  // namespace

ll::Value* convert(Lanes& b, Elem from, Elem to, ll::Value* v) {
  if (from == to) return v;
  if (ir::is_float(from)) {
    if (ir::is_float(to)) return float_to_float(b, from, to, v);
    if (is_small_float(from)) v = widen(b, from, v);
    if (to == Elem::Bool) return b.CreateFCmpUNE(v, ll::Constant::getNullValue(v->getType()));
    return float_to_int(b, to, v);
  }
  if (ir::is_float(to)) return int_to_float(b, from, to, v);
  if (to == Elem::Bool) return b.CreateICmpNE(v, ll::Constant::getNullValue(v->getType()));
  return b.CreateIntCast(v, b.like(v, b.element(to)), ir::is_signed(from));
}

}  // namespace tilewright::target::llvm
