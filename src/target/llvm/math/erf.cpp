// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

/// erf(x) = 1 - exp(-h(x)) with h(x) = -log(1 - erf(x)), which is smooth from 0 on. As in expm1,
/// h = r - n ln2 and 1 - exp(-h) = (1 - 2^n) + 2^n (1 - exp(-r)), so that one formula holds for
/// small and large x alike.
Num erf32(Num x) {
  const Num a = clamp(abs(x), 0, 3.93);  // from here on it is 1
  // h = (c + t(a)) a; c is the slope at 0, and t starts with what c lost in rounding.
  const Num t =
      poly(a, {-0x1.d0d9b0p-25, 0x1.45f2fap-1, 0x1.a4fa5ep-4, -0x1.39cdc8p-6, -0x1.505d7ap-13,
               0x1.b50006p-10, -0x1.4bc99cp-11, 0x1.ed6bacp-14, -0x1.369620p-17});
  const Num h = fma(a, 0x1.20dd76p+0, a * t);
  // Rounds to an integer; the low bits of the sum are 2^n's exponent.
  constexpr double kMagic = 0x1.8p23 + 127;
  const Num sum = fma(h, -0x1.715476p+0, kMagic);
  const Num power = x.from_bits(sum.bits() << 23);
  const Num r = fma(sum - kMagic, 0x1.62e430p-1, h);
  // (1 - exp(-r) - r) / r²
  const Num q =
      poly(r, {-0x1.fffff4p-2, 0x1.55548cp-3, -0x1.555d94p-5, 0x1.123d86p-7, -0x1.675010p-10});
  return copysign(fma(power, fma(r * r, q, r), 1.0 - power), x);
}

Num erf64(Num x) {
  const Num a = abs(x);
  // x + x P(x²) up to 1
  const Num p = poly(a * a, {0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b20p-4,
                             -0x1.b82ce3128499cp-6, 0x1.565bcd0db02e5p-8, -0x1.c02db3d8ed25cp-11,
                             0x1.f9a321a11df4bp-14, -0x1.f4d1df394dc63p-17, 0x1.b9def19e11afcp-20,
                             -0x1.5f1d36c34c539p-23, 0x1.f7a41239d012ap-27, -0x1.386ac0ea4f0cbp-30,
                             0x1.0579ab202efd9p-34});
  const Num small = fma(a, p, a);
  // 1 - exp(-x²) g(t), t = (x - 2) / (x + 2), above; from 6 on it is 1
  const Num c = clamp(a, 0, 6);
  const Num t = (c - 2.0) / (c + 2.0);
  const Num g = poly(
      t, {0x1.058671b52c776p-2, -0x1.b57034efd3f56p-2, 0x1.eeea7dc8a790cp-3, -0x1.437f0b68ccc3ep-4,
          0x1.e947158adc556p-9, 0x1.ca95ed864042ap-8, -0x1.bc258dc526a38p-11,
          -0x1.016b537520c43p-10, 0x1.6d35314887d59p-15, 0x1.6d8269241df76p-13,
          0x1.cf70aeef32ae1p-16, -0x1.be777457eb0dfp-16, -0x1.a843fe1579363p-17});
  const Num square = c * c;
  const Num lost = fma(c, c, -square);
  const Num e = exp_of(-square);
  const Num large = 1.0 - fma(e, -lost, e) * g;
  return copysign(select(a < 1.0, small, large), x);
}

}  // namespace

Num erf_of(Num x) { return x.wide() ? erf64(x) : erf32(x); }

}  // namespace tilewright::target::llvm
