// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

Num erf32(Num x) {
  const Num a = abs(x);
  // x + x P(x²) up to 0.9
  const Num p = poly(a * a, {0x1.06eba8p-3, -0x1.812744p-2, 0x1.ce2e54p-4, -0x1.b81524p-6,
                             0x1.550a44p-8, -0x1.aca394p-11, 0x1.6510c4p-14});
  const Num small = fma(a, p, a);
  // 1 - exp(-h(x)) above; from 3.93 on it is 1
  const Num c = clamp(a, 0, 3.93);
  const Num h = poly(c, {0x1.5d111ep-13, 0x1.20b752p+0, 0x1.4621bap-1, 0x1.aa731ap-4,
                         -0x1.6d9cc8p-6, 0x1.91ccc4p-9, -0x1.9fb256p-13});
  const Num large = 1.0 - exp_of(-h);
  return copysign(select(a < 0.9, small, large), x);
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
