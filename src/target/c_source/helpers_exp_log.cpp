// SPDX-License-Identifier: Apache-2.0
// exp and log by their Taylor series after powers of two are taken out, and the functions that
// follow from them. Results are within about one unit of the last place of a double, so that what
// is rounded to f32 or a shorter type is practically always right.
#include "target/c_source/helpers.h"

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kExpLog[][2] = {
    {"TW_LN2_HIGH", R"(
/* log(2); a multiple of the first part by an integer of 11 bits is exact. */
#define TW_LN2_HIGH 0.6931471805598903
#define TW_LN2_LOW 5.497923018708371e-14
)"},
    {"tw_exp_series", R"(
/* (e^r - 1 - r) / r^2 for |r| < 0.35. */
{inline} double tw_exp_series(double r) {
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  return p * r + 0.5;
}
)"},
    {"tw_exp_of", R"(
/* e^(x + low) * 2^shift, with |low| below the last place of x. */
{inline} double tw_exp_of(double x, double low, int shift) {
  if (!(x < 711)) return x + (x > 0 ? TW_INFINITY : 0);
  if (x < -746) return 0;
  const double n = tw_round(x * 1.4426950408889634);
  const double high = x - n * TW_LN2_HIGH, rest = low - n * TW_LN2_LOW, r = high + rest;
  const double tail = ((high - r) + rest) + r * r * tw_exp_series(r);
  return tw_scale(1 + (r + tail), (int)n + shift);
}
)"},
    {"tw_exp", R"(
{inline} double tw_exp(double x) { return tw_exp_of(x, 0, 0); }
)"},
    {"tw_exp2", R"(
{inline} double tw_exp2(double x) {
  if (!(x < 1025)) return x + (x > 0 ? TW_INFINITY : 0);
  if (x < -1080) return 0;
  const double n = tw_round(x), r = (x - n) * 0.6931471805599453;
  return tw_scale(1 + (r + r * r * tw_exp_series(r)), (int)n);
}
)"},
    {"tw_expm1", R"(
/* e^x - 1 without cancellation. */
{inline} double tw_expm1(double x) {
  if (x == 0) return x;
  if (!(x > -40 && x < 40)) return tw_exp(x) - 1;
  const double n = tw_round(x * 1.4426950408889634);
  const double high = x - n * TW_LN2_HIGH, rest = -n * TW_LN2_LOW, r = high + rest;
  const double tail = ((high - r) + rest) + r * r * tw_exp_series(r);
  if (n == 0) return x + tail;
  const double two_n = tw_scale(1, (int)n);
  return two_n * (r + tail) + (two_n - 1);
}
)"},
    {"tw_log_of", R"(
/* x = m * 2^*exponent with m from sqrt(1/2) to sqrt(2); gives log(m) = result + *low to 63 bits.
   log(m) = 2 (s + s^3/3 + s^5/5 + …) with s = (m - 1) / (m + 1). For finite x > 0. */
{inline} double tw_log_of(double x, int* exponent, double* low) {
  *exponent = -1023;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    *exponent -= 54;
  }
  const uint64_t bits = tw_bits_f64(x);
  *exponent += (int)(bits >> 52);
  double m = tw_value_f64((bits & 0xfffffffffffff) | (uint64_t)1023 << 52);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++*exponent;
  }
  double e1, e2, e3, e4;
  const double f = m - 1, sum = 2 + f, s = f / sum, product = tw_two_product(s, sum, &e1);
  const double s_low = (((f - product) - e1) - s * (f - (sum - 2))) / sum;
  const double z = tw_two_product(s, s, &e2), z_low = e2 + 2 * s * s_low;
  const double cube = tw_two_product(s, z, &e3), cube_low = e3 + s * z_low + s_low * z;
  const double third = tw_two_product(cube, 0.6666666666666666, &e4);
  const double third_low = e4 + cube * 3.700743415417188e-17 + cube_low * 0.6666666666666666;
  double p = 2.0 / 25;
  p = p * z + 2.0 / 23;
  p = p * z + 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  double error;
  const double high = tw_two_sum(2 * s, third, &error);
  const double rest = error + (third_low + (2 * s_low + p * z * cube));
  const double result = high + rest;
  *low = (high - result) + rest;
  return result;
}
)"},
    {"tw_log_parts", R"(
/* log(x) = result + *low for finite x > 0. */
{inline} double tw_log_parts(double x, double* low) {
  int n;
  double m_low, error;
  const double m = tw_log_of(x, &n, &m_low);
  const double high = tw_two_sum(n * TW_LN2_HIGH, m, &error);
  const double rest = error + (m_low + n * TW_LN2_LOW);
  const double result = high + rest;
  *low = (high - result) + rest;
  return result;
}
)"},
    {"tw_log", R"(
{inline} double tw_log(double x) {
  if (!(x > 0)) return x == 0 ? -TW_INFINITY : TW_NAN;
  if (x == TW_INFINITY) return x;
  double low;
  return tw_log_parts(x, &low) + low;
}
)"},
    {"tw_log2", R"(
{inline} double tw_log2(double x) {
  if (!(x > 0)) return x == 0 ? -TW_INFINITY : TW_NAN;
  if (x == TW_INFINITY) return x;
  int n;
  double low, e1, e2;
  const double m = tw_log_of(x, &n, &low);
  const double high = tw_two_product(m, 1.4426950408889634, &e1);
  const double sum = tw_two_sum(n, high, &e2);
  return sum + (e2 + (e1 + (m * 2.0355273740931033e-17 + low * 1.4426950408889634)));
}
)"},
    {"tw_log1p", R"(
/* log(1 + x) without losing the digits of a small x. */
{inline} double tw_log1p(double x) {
  if (!(x > -1)) return x == -1 ? -TW_INFINITY : TW_NAN;
  if (x == TW_INFINITY || tw_abs_f64(x) < 0x1p-54) return x;
  double low;
  const double u = 1 + x, lost = u >= 2 ? 1 - (u - x) : x - (u - 1);
  const double high = tw_log_parts(u, &low);
  return high + (low + lost / u);
}
)"},
    {"tw_pow", R"(
/* As C's pow, with its special cases. */
{inline} double tw_pow(double x, double y) {
  const double a = tw_abs_f64(x), b = tw_abs_f64(y);
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return TW_NAN;
  const bool integer = b >= 0x1p53 || tw_trunc(y) == y;
  const bool odd = integer && b < 0x1p53 && tw_trunc(y / 2) * 2 != y;
  const double sign = odd && tw_bits_f64(x) >> 63 ? -1 : 1;
  if (a == 1 && (integer || b == TW_INFINITY)) return sign;
  if (a == 0 || a == TW_INFINITY) return sign * ((a == 0) == (y > 0) ? 0 : TW_INFINITY);
  if (x < 0 && !integer) return TW_NAN;
  if (b > 0x1p65) return sign * ((a > 1) == (y > 0) ? TW_INFINITY : 0);
  double low, error;
  const double high = tw_log_parts(a, &low);
  const double product = tw_two_product(y, high, &error);
  return sign * tw_exp_of(product, error + y * low, 0);
}
)"},
    {"tw_sinh", R"(
{inline} double tw_sinh(double x) {
  const double a = tw_abs_f64(x);
  if (!(a < 20)) return tw_copysign(tw_exp_of(a, 0, -1), x);
  const double t = tw_expm1(a);
  return tw_copysign(0.5 * (t + t / (t + 1)), x);
}
)"},
    {"tw_cosh", R"(
{inline} double tw_cosh(double x) {
  const double half = tw_exp_of(tw_abs_f64(x), 0, -1);
  return half + 0.25 / half;
}
)"},
    {"tw_tanh", R"(
{inline} double tw_tanh(double x) {
  const double a = tw_abs_f64(x);
  if (a > 20) return tw_copysign(1, x);
  const double t = tw_expm1(2 * a);
  return tw_copysign(a < 0.5 ? t / (t + 2) : 1 - 2 / (t + 2), x);
}
)"},
    {"tw_asinh", R"(
{inline} double tw_asinh(double x) {
  const double a = tw_abs_f64(x);
  if (a < 0x1p-30) return x;
  if (a > 0x1p30) return tw_copysign(tw_log(a) + 0.6931471805599453, x);
  return tw_copysign(tw_log1p(a + a * a / (1 + tw_sqrt(1 + a * a))), x);
}
)"},
    {"tw_acosh", R"(
{inline} double tw_acosh(double x) {
  if (!(x >= 1)) return TW_NAN;
  if (x > 0x1p30) return tw_log(x) + 0.6931471805599453;
  const double t = x - 1;
  return tw_log1p(t + tw_sqrt(t * (t + 2)));
}
)"},
    {"tw_atanh", R"(
{inline} double tw_atanh(double x) {
  const double a = tw_abs_f64(x);
  return tw_copysign(0.5 * tw_log1p(2 * a / (1 - a)), x);
}
)"},
    {"tw_erf", R"(
/* Below 1 the Taylor series; above, 1 - e^(-x^2) p(t) with t = 14.4 / (x + 3) - 2.6 from -1 to 1,
   where p is the Chebyshev approximation of erfc(x) e^(x^2), within 3e-17 for 1 <= x <= 6. */
{inline} double tw_erf(double x) {
  const double a = tw_abs_f64(x), z = x * x;
  if (a < 1) {
    /* a (2 / sqrt(pi) = 1 + 0.128…) (1 - z/3 + z^2/(2! 5) - z^3/(3! 7) …) */
    double p = 1.0 / 236887827111936000.0;
    p = p * z - 1.0 / 12449059983360000.0;
    p = p * z + 1.0 / 690452066304000.0;
    p = p * z - 1.0 / 40537905408000.0;
    p = p * z + 1.0 / 2528170444800.0;
    p = p * z - 1.0 / 168129561600.0;
    p = p * z + 1.0 / 11975040000.0;
    p = p * z - 1.0 / 918086400.0;
    p = p * z + 1.0 / 76204800.0;
    p = p * z - 1.0 / 6894720.0;
    p = p * z + 1.0 / 685440.0;
    p = p * z - 1.0 / 75600.0;
    p = p * z + 1.0 / 9360.0;
    p = p * z - 1.0 / 1320.0;
    p = p * z + 1.0 / 216.0;
    p = p * z - 1.0 / 42.0;
    p = p * z + 1.0 / 10.0;
    p = p * z - 1.0 / 3.0;
    return tw_copysign(a + (a * 0.1283791670955126 + a * z * p * 1.1283791670955126), x);
  }
  if (a >= 6) return tw_copysign(1, x);
  const double t = 14.4 / (a + 3) - 2.6;
  double p = -4.5059344101039224e-15;
  p = p * t + 6.044068318449643e-12;
  p = p * t - 6.029960764165142e-12;
  p = p * t - 2.5700504246482923e-10;
  p = p * t + 2.6378796088267935e-10;
  p = p * t + 1.1339337061280557e-08;
  p = p * t + 4.526722358033927e-09;
  p = p * t - 5.54127310709044e-07;
  p = p * t - 2.4255574811675935e-06;
  p = p * t + 1.9563583198099526e-05;
  p = p * t + 0.0003316029605784682;
  p = p * t + 0.0024793146970862002;
  p = p * t + 0.012713147695691995;
  p = p * t + 0.04969844540339414;
  p = p * t + 0.15436117429436919;
  p = p * t + 0.20798329133342885;
  return tw_copysign(1 - tw_exp(-z) * p, x);
}
)"},
};

}  // namespace

std::vector<Helper> exp_log_helpers() {
  std::vector<Helper> rows;
  for (const auto& [name, text] : kExpLog) rows.push_back({std::string(name), std::string(text)});
  return rows;
}

}  // namespace tilewright::target::c_source
