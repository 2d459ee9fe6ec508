// SPDX-License-Identifier: Apache-2.0
// sin and cos by their Taylor series after multiples of pi / 2 are taken out with as many digits of
// 2 / pi as it takes, atan by addition theorem and series, and the functions that follow.
#include "target/c_source/helpers.h"

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kTrig[][2] = {
    {"tw_two_over_pi", R"(
/* The bits of 2 / pi behind the binary point, after 64 zeros. */
static const uint64_t tw_two_over_pi[20] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
)"},
    {"tw_quadrant", R"(
/* x = n pi/2 + *r + *low with |*r| <= pi/4; gives n modulo 4. The product of x and 2 / pi is taken
   modulo 4 with 128 bits behind the point, by integers. For finite x. */
{inline} int tw_quadrant(double x, double* r, double* low) {
  *r = x;
  *low = 0;
  if (tw_abs_f64(x) <= 0.7853981633974483) return 0;
  int e;
  const uint64_t m = tw_split(x, &e);
  /* 192 bits of 2 / pi from the first that matters on: earlier ones give multiples of 4. */
  const int word = (e + 62) / 64, bit = (e + 62) % 64;
  uint64_t w[3];
  for (int i = 0; i < 3; ++i) {
    w[i] = tw_two_over_pi[word + i] << bit;
    if (bit != 0) w[i] |= tw_two_over_pi[word + i + 1] >> (64 - bit);
  }
  const uint64_t p2 = m * w[2], p1 = m * w[1] + tw_mul_high(m, w[2]);
  const uint64_t p0 = m * w[0] + tw_mul_high(m, w[1]) + (p1 < m * w[1]);
  int n = (int)(p0 >> 62);
  uint64_t f = p0 << 2 | p1 >> 62, g = p1 << 2 | p2 >> 62;
  const bool above = f >> 63;
  if (above) { /* the next multiple is nearer */
    ++n;
    f = ~f + (g == 0);
    g = 0 - g;
  }
  int z = 0;
  for (; !(f >> 63) && z < 64; ++z) {
    f = f << 1 | g >> 63;
    g <<= 1;
  }
  const double high = tw_scale((double)(f >> 11), -53 - z);
  const double rest = tw_scale((double)((f & 0x7ff) << 42 | g >> 22), -106 - z);
  double error;
  const double turn = tw_two_product(high, 1.5707963267948966, &error);
  const double turn_low = error + (high * 6.123233995736766e-17 + rest * 1.5707963267948966);
  *r = turn + turn_low;
  *low = (turn - *r) + turn_low;
  if (above != (x < 0)) {
    *r = -*r;
    *low = -*low;
  }
  return (x < 0 ? -n : n) & 3;
}
)"},
    {"tw_sin_of", R"(
/* sin(r + low) for |r| <= pi/4. */
{inline} double tw_sin_of(double r, double low) {
  const double z = r * r;
  double p = 1.0 / 355687428096000;
  p = p * z - 1.0 / 1307674368000;
  p = p * z + 1.0 / 6227020800;
  p = p * z - 1.0 / 39916800;
  p = p * z + 1.0 / 362880;
  p = p * z - 1.0 / 5040;
  p = p * z + 1.0 / 120;
  p = p * z - 1.0 / 6;
  return r + (low * (1 - 0.5 * z) + r * z * p);
}
)"},
    {"tw_cos_of", R"(
/* cos(r + low) for |r| <= pi/4. */
{inline} double tw_cos_of(double r, double low) {
  const double z = r * r, half = 0.5 * z, high = 1 - half;
  double p = 1.0 / 20922789888000;
  p = p * z - 1.0 / 87178291200;
  p = p * z + 1.0 / 479001600;
  p = p * z - 1.0 / 3628800;
  p = p * z + 1.0 / 40320;
  p = p * z - 1.0 / 720;
  p = p * z + 1.0 / 24;
  return high + (((1 - high) - half) + (z * z * p - r * low));
}
)"},
    {"tw_sin", R"(
{inline} double tw_sin(double x) {
  if (x == 0) return x;
  if (!(tw_abs_f64(x) < TW_INFINITY)) return TW_NAN;
  double r, low;
  const int n = tw_quadrant(x, &r, &low);
  const double y = n & 1 ? tw_cos_of(r, low) : tw_sin_of(r, low);
  return n & 2 ? -y : y;
}
)"},
    {"tw_cos", R"(
{inline} double tw_cos(double x) {
  if (!(tw_abs_f64(x) < TW_INFINITY)) return TW_NAN;
  double r, low;
  const int n = tw_quadrant(x, &r, &low);
  const double y = n & 1 ? tw_sin_of(r, low) : tw_cos_of(r, low);
  return n == 1 || n == 2 ? -y : y;
}
)"},
    {"tw_tan", R"(
{inline} double tw_tan(double x) {
  if (x == 0) return x;
  if (!(tw_abs_f64(x) < TW_INFINITY)) return TW_NAN;
  double r, low;
  const int n = tw_quadrant(x, &r, &low);
  const double s = tw_sin_of(r, low), c = tw_cos_of(r, low);
  return n & 1 ? -c / s : s / c;
}
)"},
    {"tw_atan_parts", R"(
/* atan(x) = result + *low for 0 <= x <= 1: atan(c) + atan((x - c) / (1 + c x)) with c = k/8. */
{inline} double tw_atan_parts(double x, double* low) {
  static const double high[9] = {0,
                                 0.12435499454676144,
                                 0.24497866312686414,
                                 0.35877067027057225,
                                 0.4636476090008061,
                                 0.5585993153435624,
                                 0.6435011087932844,
                                 0.7188299996216245,
                                 0.7853981633974483};
  static const double rest[9] = {0,
                                 -3.1253241424539383e-18,
                                 1.0698755618734451e-17,
                                 -2.4623815582638635e-17,
                                 2.2698777452961687e-17,
                                 -5.4556305485916264e-18,
                                 1.5834785051444286e-17,
                                 -2.1478388444456983e-17,
                                 3.061616997868383e-17};
  const int k = (int)(x * 8 + 0.5);
  const double c = k * 0.125, u = (x - c) / (1 + c * x), z = u * u;
  double p = 1.0 / 15;
  p = p * -z + 1.0 / 13;
  p = p * -z + 1.0 / 11;
  p = p * -z + 1.0 / 9;
  p = p * -z + 1.0 / 7;
  p = p * -z + 1.0 / 5;
  p = p * -z + 1.0 / 3;
  const double sum = high[k] + u;
  *low = ((high[k] - sum) + u) + (rest[k] - u * z * p);
  return sum;
}
)"},
    {"tw_atan2", R"(
/* The angle of the point (x, y), as C's atan2. */
{inline} double tw_atan2(double y, double x) {
  if (x != x || y != y) return TW_NAN;
  const double a = tw_abs_f64(x), b = tw_abs_f64(y);
  const bool steep = b > a, left = tw_bits_f64(x) >> 63;
  const double small = steep ? a : b, great = steep ? b : a;
  /* Of two infinities or two zeros the quotient is as if they were equal, or small were less. */
  const double q = great == 0 ? 0 : small == great ? 1 : small / great;
  double low, angle = tw_atan_parts(q, &low);
  double base = 0, base_low = 0; /* of the axis from which the angle counts */
  if (steep) {
    base = 1.5707963267948966;
    base_low = 6.123233995736766e-17;
  } else if (left) {
    base = 3.141592653589793;
    base_low = 1.2246467991473532e-16;
  }
  if (steep != left) {
    angle = -angle;
    low = -low;
  }
  const double sum = base + angle;
  return tw_copysign(sum + (((base - sum) + angle) + (base_low + low)), y);
}
)"},
    {"tw_atan", R"(
{inline} double tw_atan(double x) { return tw_atan2(x, 1); }
)"},
    {"tw_asin", R"(
{inline} double tw_asin(double x) {
  if (!(tw_abs_f64(x) <= 1)) return TW_NAN;
  return tw_atan2(x, tw_sqrt((1 - x) * (1 + x)));
}
)"},
    {"tw_acos", R"(
{inline} double tw_acos(double x) {
  if (!(tw_abs_f64(x) <= 1)) return TW_NAN;
  return tw_atan2(tw_sqrt((1 - x) * (1 + x)), x);
}
)"},
};

}  // namespace

std::vector<Helper> trig_helpers() {
  std::vector<Helper> rows;
  for (const auto& [name, text] : kTrig) rows.push_back({std::string(name), std::string(text)});
  return rows;
}

}  // namespace tilewright::target::c_source
