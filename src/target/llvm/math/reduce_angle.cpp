// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/reduce_angle.h"

#include "llvm/IR/Module.h"

#include "target/llvm/math/slow_lanes.h"

namespace tilewright::target::llvm {
namespace {

// π/2 = high + middle + low
constexpr double kHigh = 0x1.921fb54442d18p+0, kMiddle = 0x1.1a62633145c07p-54,
                 kLow = -0x1.f1976b7ed8fbcp-110;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kMagic = 0x1.8p52;

/// The binary digits of 2/π, after 64 zeros.
constexpr uint64_t kDigits[] = {0,
                                0xa2f9836e4e441529,
                                0xfc2757d1f534ddc0,
                                0xdb6295993c439041,
                                0xfe5163abdebbc561,
                                0xb7246e3a424dd2e0,
                                0x06492eea09d1921c,
                                0xfe1deb1cb129a73e,
                                0xe88235f52ebb4484,
                                0xe99c7026b45f7e41,
                                0x3991d639835339f4,
                                0x9c845f8bbdf9283b,
                                0x1ff897ffde05980f,
                                0xef2f118b5a0a6d1f,
                                0x6d367ecf27cb09b7,
                                0x4f463f669e5fea2d,
                                0x7527bac7ebe5f17b,
                                0x3d0739f78a5292ea,
                                0x6bfb5fb11f8d5d08,
                                0x56033046fc7b6bab,
                                0xf0cfbc209af4361d};

/// {r, tail, quadrant} of one finite double, at least 2^20.
std::vector<ll::Value*> large_angle(Lanes& b, ll::Function* function) {
  ll::LLVMContext& context = b.getContext();
  ll::Module& module = *function->getParent();
  ll::Type* f64 = b.getDoubleTy();
  ll::Type* i64 = b.getInt64Ty();
  const Num x{&b, function->getArg(0)};
  const Int bits = abs(x).bits();
  const Int mantissa = (bits & 0xfffffffffffff) | bits.of(uint64_t{1} << 52);
  // |x| = mantissa * 2^e. Digit j of 2/π weighs 2^-j: those with e - j >= 2 give multiples of 4 and
  // are left out, so the window starts at j = e - 1, which is digit e + 62 of the table.
  const Int e = Int{&b, b.CreateLShr(bits.v, 52)} - 1075;
  const Int first = e + 62;
  ll::Constant* digits = ll::ConstantDataArray::get(context, ll::ArrayRef<uint64_t>(kDigits));
  auto* table = new ll::GlobalVariable(module, digits->getType(), true,
                                       ll::GlobalValue::PrivateLinkage, digits, "tw.two_over_pi");
  ll::Value* word = b.CreateLShr(first.v, 6);
  const auto at = [&](uint64_t i) {
    return b.CreateLoad(i64, b.CreateInBoundsGEP(i64, table, b.CreateAdd(word, b.getInt64(i))));
  };
  ll::Value* w[] = {at(0), at(1), at(2), at(3)};
  ll::Value* shift = b.CreateAnd(first.v, 63);
  const auto window = [&](int i) {
    return b.CreateIntrinsic(ll::Intrinsic::fshl, {i64}, {w[i], w[i + 1], shift});
  };
  // The product modulo 2^192, in three words; the top two bits count quadrants, the rest is a
  // fraction.
  ll::Type* i128 = b.getInt128Ty();
  const auto product = [&](ll::Value* t) {
    return b.CreateMul(b.CreateZExt(t, i128), b.CreateZExt(mantissa.v, i128));
  };
  ll::Value* p2 = product(window(2));
  ll::Value* p1 = b.CreateAdd(product(window(1)), b.CreateLShr(p2, 64));
  ll::Value* r2 = b.CreateTrunc(p2, i64);
  ll::Value* r1 = b.CreateTrunc(p1, i64);
  ll::Value* r0 =
      b.CreateAdd(b.CreateMul(window(0), mantissa.v), b.CreateTrunc(b.CreateLShr(p1, 64), i64));
  ll::Value* high = b.CreateIntrinsic(ll::Intrinsic::fshl, {i64}, {r0, r1, b.getInt64(2)});
  ll::Value* low = b.CreateIntrinsic(ll::Intrinsic::fshl, {i64}, {r1, r2, b.getInt64(2)});
  // To the nearest quadrant: fractions above one half become negative.
  ll::Value* above = b.CreateLShr(high, 63);
  ll::Value* quadrant = b.CreateAdd(b.CreateLShr(r0, 62), above);
  ll::Value* fraction =
      b.CreateOr(b.CreateShl(b.CreateZExt(high, i128), 64), b.CreateZExt(low, i128));
  ll::Value* is_above = b.CreateICmpNE(above, b.getInt64(0));
  ll::Value* size = b.CreateSelect(is_above, b.CreateNeg(fraction), fraction);
  // Normalised, then as two doubles: 53 bits, and 53 of the next.
  ll::Value* zeros = b.CreateBinaryIntrinsic(ll::Intrinsic::ctlz, size, b.getFalse());
  ll::Value* top = b.CreateShl(size, zeros);  // the fraction is not 0: x is no multiple of π/2
  const Num h{&b, b.CreateUIToFP(b.CreateTrunc(b.CreateLShr(top, 75), i64), f64)};
  const Num l{&b, b.CreateUIToFP(b.CreateTrunc(b.CreateAnd(b.CreateLShr(top, 22),
                                                           b.getIntN(128, (uint64_t{1} << 53) - 1)),
                                               i64),
                                 f64)};
  // 2^-53 * 2^-zeros
  const Num unit =
      h.from_bits(Int{&b, b.CreateSub(b.getInt64(1023 - 53), b.CreateTrunc(zeros, i64))} << 52);
  const Num fh = h * unit, fl = l * unit * 0x1p-53;
  const Num r = fh * kHigh;
  const Num tail = fma(fh, kHigh, -r) + fma(fh, kMiddle, fl * kHigh);
  // The signs of the fraction and of x.
  const Int sign = Int{&b, b.CreateXor(b.CreateShl(above, 63),
                                       b.CreateAnd(x.bits().v, b.getInt64(uint64_t{1} << 63)))};
  const auto signed_part = [&](Num v) { return v.from_bits(v.bits() ^ sign).v; };
  ll::Value* minus = b.CreateICmpSLT(x.bits().v, b.getInt64(0));
  return {signed_part(r), signed_part(tail),
          b.CreateSelect(minus, b.CreateNeg(quadrant), quadrant)};
}

}  // namespace

Angle reduce_angle(Num x, Accuracy accuracy) {
  const Num k = fma(x, kTwoOverPi, kMagic);
  const Num n = k - kMagic;
  // x - n high is exact. What follows of π/2 is taken off with its rounding error kept.
  const Num a = fma(n, -kHigh, x);
  Angle near{a, a, k.bits()};
  double bound = 0;
  if (accuracy == Accuracy::F32) {
    near.r = fma(n, -kMiddle, a);
    near.tail = a.of(0);
    bound = 0x1p28;
  } else {
    const Num w = n * kMiddle;
    near.r = a - w;
    near.tail = ((a - near.r) - w) - fma(n, kLow, fma(n, kMiddle, -w));
    bound = 0x1p20;
  }
  const Num size = abs(x);
  const Mask large = (size > bound) & (size < size.inf());
  Lanes& b = *x.b;
  ll::Type* f64 = b.getDoubleTy();
  ll::Function* slow =
      slow_function(b, "tw.large_angle", {f64}, {f64, f64, b.getInt64Ty()}, large_angle);
  const std::vector<ll::Value*> all =
      replace_lanes(b, large.v, slow, {x.v}, {near.r.v, near.tail.v, near.quadrant.v});
  return {{&b, all[0]}, {&b, all[1]}, {&b, all[2]}};
}

}  // namespace tilewright::target::llvm
