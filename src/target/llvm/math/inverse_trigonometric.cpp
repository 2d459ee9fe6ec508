// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

constexpr double kPiHigh = 0x1.921fb54442d18p+1, kPiLow = 0x1.1a62633145c07p-53;
constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;

/// (asin(s) - s) / s for z = s² up to 1/4
Num asin_rest(Num z) {
  return z * poly(z, {0x1.5555555555578p-3, 0x1.333333332df05p-4, 0x1.6db6db722bfd4p-5,
                      0x1.f1c71a8b6d6ccp-6, 0x1.6e8bdfeb0eaedp-6, 0x1.1c49ddbb0725cp-6,
                      0x1.ca214a3273b59p-7, 0x1.75776177d769bp-7, 0x1.618b99c5a8c72p-7,
                      0x1.e14f2a455cd4fp-9, 0x1.650566bbd829bp-6, -0x1.59faf8f9037c7p-6,
                      0x1.0be5b2f1aeae0p-5});
}

/// asin(a) for a <= 1/2, else asin(sqrt((1 - a) / 2)), which is half of what is missing to π/2.
struct HalfAngle {
  Mask beyond;
  Num s, rest;  // asin = s + rest
};
HalfAngle half_angle(Num a) {
  const Mask beyond = a > 0.5;
  const Num z = select(beyond, fma(a, -0.5, 0.5), a * a);
  const Num s = select(beyond, sqrt(z), a);
  return {beyond, s, s * asin_rest(z)};
}

/// atan(a) for a >= 0: around 0, 1 and infinity in turn.
Num atan_positive(Num a) {
  const Mask large = a > 0x1.3504f333f9de6p+1;   // tan(3π/8)
  const Mask middle = a > 0x1.a827999fcef32p-2;  // tan(π/8)
  const Num numerator = select(large, -1.0, select(middle, a - 1.0, a));
  const Num denominator = select(large, a, select(middle, a + 1.0, a.of(1.0)));
  const Num t = numerator / denominator;
  const Num z = t * t;
  const Num p = poly(
      z, {-0x1.555555555553dp-2, 0x1.9999999995863p-3, -0x1.24924922ad97ep-3, 0x1.c71c70e6314a2p-4,
          -0x1.745cf8e0154b6p-4, 0x1.3b11194de1740p-4, -0x1.10ebb979ffcebp-4, 0x1.df0f4b9b6102fp-5,
          -0x1.9cd26bb5490d8p-5, 0x1.37d3fbb4c5af3p-5, -0x1.2564d261b570fp-6});
  const Num high = select(large, kHalfPiHigh, select(middle, kHalfPiHigh / 2, a.of(0)));
  const Num low = select(large, kHalfPiLow, select(middle, kHalfPiLow / 2, a.of(0)));
  return high + (t + fma(t * z, p, low));
}

}  // namespace

Num asin_of(Num x) {
  const HalfAngle h = half_angle(abs(x));
  const Num far = kHalfPiHigh - ((h.s + (h.rest - kHalfPiLow / 2)) * 2.0);
  return copysign(select(h.beyond, far, h.s + h.rest), x);
}

Num acos_of(Num x) {
  const HalfAngle h = half_angle(abs(x));
  const Num twice = (h.s + h.rest) * 2.0;
  const Num beyond = select(x > 0.0, twice, kPiHigh - (twice - kPiLow));
  const Num rest = copysign(h.rest, x);
  return select(h.beyond, beyond, kHalfPiHigh - (x - (kHalfPiLow - rest)));
}

Num atan_of(Num x) { return copysign(atan_positive(abs(x)), x); }

Num atan2_of(Num y, Num x) {
  const Num ax = abs(x), ay = abs(y);
  const Mask steep = ay > ax;
  const Num high = select(steep, ay, ax), low = select(steep, ax, ay);
  // 0 / 0 and inf / inf have directions of their own.
  Num ratio = low / high;
  ratio = select(high == 0.0, 0.0, ratio);
  ratio = select((low == low.inf()), 1.0, ratio);
  Num angle = atan_positive(ratio);
  angle = select(steep, kHalfPiHigh - (angle - kHalfPiLow), angle);
  angle = select(negative(x.bits()), kPiHigh - (angle - kPiLow), angle);
  return select(is_nan(x) | is_nan(y), x.nan(), copysign(angle, y));
}

}  // namespace tilewright::target::llvm
