// SPDX-License-Identifier: Apache-2.0
#include "target/llvm/math/functions.h"

namespace tilewright::target::llvm {
namespace {

/// high + low, with |low| below an ulp of high.
struct Pair {
  Num high, low;
};

/// log2 of a positive finite number, to about 2^-65 of itself.
Pair log2_pair(Num x) {
  const auto [k, f] = split_exponent(x);
  // s = f / (2 + f)
  const Num d = f + 2.0;
  const Num d_low = f - (d - 2.0);
  const Num s = f / d;
  const Num s_low = (fma(-s, d, f) - s * d_low) / d;
  const Num z = s * s;
  const Num z_low = fma(s, s, -z) + s * s_low * 2.0;
  // log(1 + f) = 2 s + s z (2/3 + z R)
  const Num u = z * poly(z, {0x1.9999999999e06p-2, 0x1.249249242aaf8p-2, 0x1.c71c7259aa29fp-3,
                             0x1.745cddff68905p-3, 0x1.3b20b4dea673fp-3, 0x1.0f5bf605dba11p-3,
                             0x1.0f6a9a50deeb3p-3});
  const Num w = u + 0x1.5555555555555p-1;
  const Num w_low = (0x1.5555555555555p-1 - w) + u + 0x1.5555555555555p-55;
  const Num p = s * z;
  const Num p_low = fma(s, z, -p) + s * z_low + s_low * z;
  const Num t = p * w;
  const Num t_low = fma(p, w, -t) + p * w_low + p_low * w;
  const Num s2 = s * 2.0;
  const Num log = s2 + t;
  const Num log_low = (s2 - log) + t + (s_low * 2.0 + t_low);
  // times log2(e), plus k
  constexpr double kHigh = 0x1.71547652b82fep+0, kLow = 0x1.777d0ffda0d24p-56;
  const Num a = log * kHigh;
  const Num a_low = fma(log, kHigh, -a) + fma(log, kLow, log_low * kHigh);
  const Num sum = k + a;
  return {sum, (k - sum) + a + a_low};
}

}  // namespace

Num pow_of(Num x, Num y) {
  const Num a = abs(x);
  const Mask finite = (a > 0.0) & (a < a.inf());
  const Pair log = log2_pair(select(finite, a, 1.0));
  // An infinite y and a huge product both end at the bounds, where 2^… is 0 or inf for certain.
  const Num high = clamp(log.high * y, -2000, 2000);
  const Num low = fma(log.high, y, -high) + log.low * y;
  const Mask inside = abs(high) < 2000.0;
  Num result = exp2_of_sum(high, select(inside, low, 0.0));
  result = select(a == 1.0, 1.0, result);
  const Mask grows = {a.b, a.b->CreateICmpEQ((a == 0.0).v, (y < 0.0).v)};  // 0^-1, inf^1
  const Num at_end = select(grows, a.inf(), a.of(0));
  result = select(finite | is_nan(x), result, at_end);

  const Mask integral = trunc(y) == y;
  const Num half = y * 0.5;
  const Mask odd = integral & !(trunc(half) == half);
  const Mask minus = negative(x.bits());
  const Num negated = select(odd, -result, result);
  result = select(minus, negated, result);
  result = select(minus & finite & !integral, x.nan(), result);
  result = select(is_nan(x) | is_nan(y), x.nan(), result);
  return select((x == 1.0) | (y == 0.0), 1.0, result);
}

}  // namespace tilewright::target::llvm
