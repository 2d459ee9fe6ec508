// SPDX-License-Identifier: Apache-2.0
// Arithmetic on doubles beyond what C's operators give: sums and products with their rounding
// errors, a multiply-add that rounds once, square roots, remainders.
#include "target/c_source/helpers.h"

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kExact[][2] = {
    {"tw_scale", R"(
/* x * 2^k, rounded once; |x| is 0 or from 2^-53 to 2^54, |k| <= 1990. */
{inline} double tw_scale(double x, int k) {
  if (k > 1023) {
    x *= 0x1p1000;
    k -= 1000;
  } else if (k < -1022) {
    x *= 0x1p-968;
    k += 968;
  }
  return x * tw_value_f64((uint64_t)(k + 1023) << 52);
}
)"},
    {"tw_split", R"(
/* |x| = result * 2^*exponent, for finite x. */
{inline} uint64_t tw_split(double x, int* exponent) {
  const uint64_t bits = tw_bits_f64(x), digits = bits & 0xfffffffffffff;
  const int stored = (int)(bits >> 52 & 0x7ff);
  *exponent = (stored == 0 ? 1 : stored) - 1075;
  return stored == 0 ? digits : digits | (uint64_t)1 << 52;
}
)"},
    {"tw_two_sum", R"(
/* a + b = result + *error, exactly. */
{inline} double tw_two_sum(double a, double b, double* error) {
  const double sum = a + b, of_b = sum - a;
  *error = (a - (sum - of_b)) + (b - of_b);
  return sum;
}
)"},
    {"tw_two_product", R"(
/* a * b = result + *error, exactly, unless it is beyond 2^990 or below 2^-900. */
{inline} double tw_two_product(double a, double b, double* error) {
  const double product = a * b, ca = a * 0x1.0000002p27, cb = b * 0x1.0000002p27;
  const double a1 = ca - (ca - a), a2 = a - a1, b1 = cb - (cb - b), b2 = b - b1;
  *error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
  return product;
}
)"},
    {"tw_mul_high", R"(
/* The upper half of the 128 bits of a * b. */
{inline} uint64_t tw_mul_high(uint64_t a, uint64_t b) {
  const uint64_t a1 = a >> 32, a0 = a & 0xffffffff, b1 = b >> 32, b0 = b & 0xffffffff;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffff);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
)"},
    {"tw_fma_odd", R"(
/* a * b + c for values of at most 24 bits. The result is rounded to odd: when it is not exact its
   last bit is set, so that rounding it again to 24 bits or fewer is as good as rounding once. */
{inline} double tw_fma_odd(double a, double b, double c) {
  double error;
  const double sum = tw_two_sum(a * b, c, &error);
  const uint64_t bits = tw_bits_f64(sum);
  if (!(error > 0 || error < 0) || (bits & 1)) return sum;
  return tw_value_f64((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
)"},
    {"tw_fma_f64", R"(
/* a * b + c, rounded once: with 128-bit integers whose last bit says that some are missing. */
{inline} double tw_fma_f64(double a, double b, double c) {
  const double limit = 0x1.fffffffffffffp1023;
  const bool finite = tw_abs_f64(a) <= limit && tw_abs_f64(b) <= limit;
  if (a == 0 || b == 0 || !finite) return a * b + c;
  if (!(tw_abs_f64(c) <= limit)) return c;
  if (c == 0) return a * b;
  int ea, eb, ec;
  const uint64_t ma = tw_split(a, &ea), mb = tw_split(b, &eb), mc = tw_split(c, &ec);
  const bool negative = (a < 0) != (b < 0), subtract = negative != (c < 0);
  /* The greater of both in (h, l), the other one in (sh, sl); the first bit of each is 2^126. */
  uint64_t h = tw_mul_high(ma, mb), l = ma * mb, sh = mc, sl = 0;
  int e = ea + eb, es = ec - 64;
  while (!(h >> 62)) {
    h = h << 1 | l >> 63;
    l <<= 1;
    --e;
  }
  while (!(sh >> 62)) {
    sh <<= 1;
    --es;
  }
  bool flip = negative;
  if (es > e || (es == e && (sh > h || (sh == h && sl > l)))) {
    uint64_t t = h;
    h = sh;
    sh = t;
    t = l;
    l = sl;
    sl = t;
    const int te = e;
    e = es;
    es = te;
    flip = c < 0;
  }
  int shift = e - es;
  if (shift > 127) {
    sh = 0;
    sl = 1;
  } else {
    for (; shift > 0; --shift) {
      sl = sl >> 1 | sh << 63 | (sl & 1);
      sh >>= 1;
    }
  }
  if (subtract) {
    h -= sh + (l < sl);
    l -= sl;
    if (h == 0 && l == 0) return 0;
  } else {
    l += sl;
    h += sh + (l < sl);
  }
  while (!(h >> 63)) {
    h = h << 1 | l >> 63;
    l <<= 1;
    --e;
  }
  /* The value is h.l * 2^(e + 64); a double keeps 53 bits, or fewer at the small end. */
  h |= l != 0;
  e += 64;
  int drop = e + 11 < -1074 ? -1074 - e : 11;
  if (drop > 65) drop = 65;
  const uint64_t half = drop > 64 ? 0 : (uint64_t)1 << (drop - 1);
  const uint64_t rest = drop > 63 ? h : h & (((uint64_t)1 << drop) - 1);
  uint64_t kept = drop > 63 ? 0 : h >> drop;
  if (drop <= 64 && (rest > half || (rest == half && (kept & 1)))) ++kept;
  const double result = tw_scale((double)kept, e + drop);
  return flip ? -result : result;
}
)"},
    {"tw_sqrt", R"(
/* Newton's iteration for 1 / sqrt(x), and a last step with the exact remainder. */
{inline} double tw_sqrt(double x) {
  if (!(x > 0) || x == TW_INFINITY) return x < 0 ? TW_NAN : x;
  int e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -27;
  }
  const uint64_t bits = tw_bits_f64(x);
  const int exponent = (int)(bits >> 52) - 1023, odd = exponent & 1;
  e += (exponent - odd) / 2;
  const double m = tw_value_f64((bits & 0xfffffffffffff) | (uint64_t)(1023 + odd) << 52);
  double y = 1.2 - 0.18 * m; /* within a fifth of 1 / sqrt(m), 1 <= m < 4 */
  for (int i = 0; i < 5; ++i) y *= 1.5 - 0.5 * m * y * y;
  double root = m * y, error;
  const double square = tw_two_product(root, root, &error);
  root += 0.5 * y * ((m - square) - error);
  return tw_scale(root, e);
}
)"},
    {"tw_rsqrt", R"(
{inline} double tw_rsqrt(double x) { return 1 / tw_sqrt(x); }
)"},
    {"tw_fmod", R"(
/* x - n y for the integer n towards zero, exactly: division by hand, bit by bit. */
{inline} double tw_fmod(double x, double y) {
  const double a = tw_abs_f64(x), b = tw_abs_f64(y);
  if (!(a < TW_INFINITY) || !(b > 0)) return TW_NAN;
  if (a < b) return x;
  int ea, eb;
  uint64_t rest = tw_split(a, &ea);
  const uint64_t divisor = tw_split(b, &eb);
  rest %= divisor;
  for (; ea > eb && rest != 0; --ea) {
    rest <<= 1;
    if (rest >= divisor) rest -= divisor;
  }
  return tw_copysign(tw_scale((double)rest, eb), x);
}
)"},
};

}  // namespace

std::vector<Helper> exact_helpers() {
  std::vector<Helper> rows;
  for (const auto& [name, text] : kExact) rows.push_back({std::string(name), std::string(text)});
  return rows;
}

}  // namespace tilewright::target::c_source
