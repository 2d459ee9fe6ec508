// SPDX-License-Identifier: Apache-2.0
// log and what follows from it. x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), so f is
// exact and small.
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

constexpr double kLn2High = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kLn2High32 = 0x1.62e430p-1, kLn2Low32 = -0x1.05c610p-29;
constexpr double kLog2EHigh = 0x1.71547652b82fep+0, kLog2ELow = 0x1.777d0ffda0d24p-56;

/// log(1 + f) = f + this, f64: with s = f / (2 + f) and z = s² it is s (f²/2 + z R(z)) - f²/2.
Num log_rest(Num f) {
  const Num half_square = f * f * 0.5;
  const Num s = f / (f + 2.0);
  const Num z = s * s;
  const Num r = z * poly(z, {0x1.5555555555555p-1, 0x1.9999999999e06p-2, 0x1.249249242aaf8p-2,
                             0x1.c71c7259aa29fp-3, 0x1.745cddff68905p-3, 0x1.3b20b4dea673fp-3,
                             0x1.0f5bf605dba11p-3, 0x1.0f6a9a50deeb3p-3});
  return fma(s, half_square + r, -half_square);
}

/// The result for arguments that have no logarithm, or an infinite one, at `at` and below.
Num with_poles(Num x, Num result, double at) {
  result = select(x == x.of(at), -x.inf(), result);
  result = select(x == x.inf(), x.inf(), result);
  return select(x >= at, result, x.nan());  // NaN too
}

}  // namespace

Split split_exponent(Num x) {
  const bool wide = x.wide();
  const uint64_t mantissa = wide ? 52 : 23;
  const Mask tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  const Int bits = select(tiny, x * (wide ? 0x1p52 : 0x1p23), x).bits();
  // Counted from sqrt(1/2), the exponent is the one wanted.
  const Int k = (bits - (wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3)) >> mantissa;
  const Num m = x.from_bits(bits - (k << mantissa));
  // There is no conversion from i64 before AVX-512: k is small, so it can be written into a
  // mantissa.
  constexpr double kMagic = 0x1.8p52;
  Num exponent = wide ? x.from_bits(k + x.of(kMagic).bits()) - kMagic : x.from_int(k);
  exponent = select(tiny, exponent - (wide ? 52.0 : 23.0), exponent);
  return {exponent, m - 1.0};
}

Num log_of(Num x) {
  const auto [k, f] = split_exponent(x);
  if (x.wide()) return with_poles(x, fma(k, kLn2High, f + fma(k, kLn2Low, log_rest(f))), 0);
  // f - f²/2 + f³ P(f)
  const Num z = f * f;
  const Num p =
      poly(f, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b6p-3, -0x1.555c4ep-3, 0x1.233768p-3,
               -0x1.fc2206p-4, 0x1.e6f06ap-4, -0x1.de3c18p-4, 0x1.1457acp-4});
  const Num rest = fma(z, -0.5, fma(f * z, p, k * kLn2Low32));
  return with_poles(x, fma(k, kLn2High32, f + rest), 0);
}

Num log2_of(Num x) {
  const auto [k, f] = split_exponent(x);
  if (!x.wide()) {
    // log2(1 + f) / f
    const Num q =
        poly(f, {0x1.715476p+0, -0x1.715470p-1, 0x1.ec7096p-2, -0x1.715a76p-2, 0x1.277e36p-2,
                 -0x1.eabc88p-3, 0x1.a305a6p-3, -0x1.874be8p-3, 0x1.7d494cp-3, -0x1.c25a76p-4});
    return with_poles(x, fma(f, q, k), 0);
  }
  const Num high = f * kLog2EHigh;
  const Num low = fma(log_rest(f), kLog2EHigh, fma(f, kLog2ELow, fma(f, kLog2EHigh, -high)));
  const Num sum = k + high;
  return with_poles(x, sum + ((k - sum) + high + low), 0);
}

Num log1p_of(Num x) {
  const Num u = x + 1.0;
  const Num up = u - 1.0;
  const Num lost = (1.0 - (u - up)) + (x - up);  // 1 + x = u + lost, exactly
  const auto [k, f] = split_exponent(u);
  // log(u + lost) = log(u) + lost / u, as lost is below an ulp
  const Num rest = fma(k, kLn2Low, log_rest(f) + lost / u);
  const Num result = fma(k, kLn2High, f + rest);
  return with_poles(x, select(x == 0.0, x, result), -1);
}

Num asinh_of(Num x) {
  const Num a = abs(x);
  const Mask large = a > 0x1p28;  // sqrt(a² + 1) = a, and a² may overflow
  const Num square = a * a;
  const Num near = a + square / (sqrt(square + 1.0) + 1.0);
  const Num result = log1p_of(select(large, a - 1.0, near));
  return copysign(select(large, result + kLn2High, result), x);
}

Num acosh_of(Num x) {
  const Num t = x - 1.0;
  const Mask large = x > 0x1p28;
  const Num result = log1p_of(select(large, t, t + sqrt(fma(t, t, t * 2.0))));
  return select(x >= 1.0, select(large, result + kLn2High, result), x.nan());
}

Num atanh_of(Num x) {
  const Num a = abs(x);
  return copysign(log1p_of(a * 2.0 / (1.0 - a)) * 0.5, x);
}

}  // namespace tilewright::target::llvm
