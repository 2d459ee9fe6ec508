// SPDX-License-Identifier: Apache-2.0
// Floats shorter than f32 are computed with as `float` values that the type can represent: every
// result is rounded to the type at once. f32 has more than twice the bits of each of them plus two,
// so rounding twice does no harm; what comes from wider arithmetic is rounded from double directly.
#include <algorithm>
#include <cmath>

#include "ir/scalar.h"
#include "support/str.h"
#include "target/c_source/helpers.h"

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kQuantize = R"(
/* x >= 0 to `bits` binary digits behind the first, or to a multiple of 2^(lowest - bits) when it is
   smaller than 2^lowest: adding a great number drops the digits below its last one. */
{inline} double tw_quantize(double x, int lowest, int bits) {
  int exponent = (int)(tw_bits_f64(x) >> 52) - 1023;
  if (exponent < lowest) exponent = lowest;
  const double great = tw_value_f64((uint64_t)(exponent - bits + 52 + 1023) << 52);
  return (x + great) - great;
}
)";

constexpr std::string_view kRound = R"(
/* The nearest {N}, ties to even. */
{inline} float tw_round_{N}(double x) {
  const double a = tw_abs_f64(x);
  if (!(a {IN} {LIMIT})) return {OVERFLOW};
  const double nearest = tw_quantize(a, {LOWEST}, {M});
  return {RESULT};
}
)";

constexpr std::string_view kToBits = R"(
/* The bits of a {N}. */
{inline} {U} tw_bits_{N}(float x) {
  const float a = tw_abs_f32(x);
  if (x != x) return {NAN};{ZERO}{INF}
  const uint32_t sign = tw_bits_f32(x) >> 31 << {SIGN};
  return ({U})(sign | tw_bits_f32(a * {DOWN}) >> {DROP});
}
)";

constexpr std::string_view kFromBits = R"(
/* The {N} of these bits. */
{inline} float tw_value_{N}({U} bits) {
  const uint32_t a = bits & {LOW};{NOT_A_NUMBER}
  const float magnitude = {ISINF}tw_value_f32(a << {DROP}) * {UP};
  return bits >> {SIGN} ? -magnitude : magnitude;
}
)";

// Powers of two, from 2^-127 on, which stands for 0.
constexpr std::string_view kPowers[][2] = {
    {"tw_round_f8e8m0", R"(
/* The nearest f8e8m0, of two the greater. */
{inline} float tw_round_f8e8m0(double x) {
  if (x != x || x < 0 || x >= 0x1.8p127) return TW_NAN;
  if (x < 0x1.8p-127) return 0x1p-127f;
  return (float)tw_value_f64((tw_bits_f64(x) + (UINT64_C(1) << 51)) >> 52 << 52);
}
)"},
    {"tw_bits_f8e8m0", R"(
/* The bits of a f8e8m0. */
{inline} uint8_t tw_bits_f8e8m0(float x) { return x != x ? 255 : (uint8_t)(tw_bits_f32(x) >> 23); }
)"},
    {"tw_value_f8e8m0", R"(
/* The f8e8m0 of these bits. */
{inline} float tw_value_f8e8m0(uint8_t bits) {
  if (bits == 255) return TW_NAN;
  return bits == 0 ? 0x1p-127f : tw_value_f32((uint32_t)bits << 23);
}
)"},
};

struct Shape {
  ir::Elem elem;
  int bias;
  bool has_inf;
  bool fnuz;  // NaN stands in the place of -0, and there is no -0
  bool has_nan = true;
};
constexpr Shape kShapes[] = {
    {ir::Elem::F8E4M3, 7, false, false},        {ir::Elem::F8E4M3FNUZ, 8, false, true},
    {ir::Elem::F8E5M2, 15, true, false},        {ir::Elem::F8E5M2FNUZ, 16, false, true},
    {ir::Elem::F16, 15, true, false},           {ir::Elem::BF16, 127, true, false},
    {ir::Elem::F4E2M1, 1, false, false, false},
};

std::string power_of_two(int exponent) { return str("0x1p", exponent, "f"); }

void add_rows(const Shape& s, std::vector<Helper>& rows) {
  const ir::ElemInfo& info = ir::info(s.elem);
  const int m = info.mantissa_bits, total = info.bits;
  const std::string name(info.name), unsigned_type = str("uint", std::max(8, total), "_t");
  const uint64_t low = (uint64_t{1} << (total - 1)) - 1;
  const uint64_t nan = ir::float_to_bits(s.elem, NAN);
  // The greatest number, and how far above it a value may lie and still round to it.
  const double greatest = ir::greatest_finite(s.elem);
  const uint64_t top = ir::float_to_bits(s.elem, greatest);
  const double step = greatest - ir::float_from_bits(s.elem, top - 1);
  // The value half-way above it goes to the even neighbour.
  const std::string in = top % 2 == 0 ? "<=" : "<";
  char limit[64];
  snprintf(limit, sizeof limit, "%.17g", greatest + step / 2);
  const std::string limit_text =
      std::string(limit).find_first_of(".e") == std::string::npos ? str(limit, ".0") : limit;
  const std::string inf_bits = str(low + 1 - (uint64_t{1} << m));
  const std::string result = s.fnuz ? "nearest == 0 ? 0 : (float)tw_copysign(nearest, x)"
                                    : "(float)tw_copysign(nearest, x)";
  const std::string zero = s.fnuz ? "\n  if (x == 0) return 0;" : "";
  const std::string inf = s.has_inf ? str("\n  if (a == TW_INFINITY) return x < 0 ? ",
                                          low + 1 + top + 1, " : ", top + 1, ";")
                                    : "";
  const std::string is_nan = s.has_inf ? str("a > ", inf_bits)
                             : s.fnuz  ? str("bits == ", nan)
                                       : str("a == ", low);
  const std::string not_a_number = s.has_nan ? str("\n  if (", is_nan, ") return TW_NAN;") : "";
  const std::string most = str(greatest);
  const std::string overflow = s.has_inf   ? "x != x ? TW_NAN : x < 0 ? -TW_INFINITY : TW_INFINITY"
                               : s.has_nan ? "TW_NAN"
                                           : str("x != x ? -0.0f : x < 0 ? -", most, " : ", most);
  const std::string is_inf = s.has_inf ? str("a == ", inf_bits, " ? TW_INFINITY : ") : "";
  const std::string drop = str(23 - m), sign = str(total - 1), lowest = str(1 - s.bias);
  const std::string digits = str(m), nan_text = str(nan), low_text = str(low);
  const std::string down = power_of_two(s.bias - 127), up = power_of_two(127 - s.bias);
  const std::vector<Replacement> of = {
      {"{N}", name},           {"{U}", unsigned_type}, {"{M}", digits},
      {"{LIMIT}", limit_text}, {"{IN}", in},           {"{RESULT}", result},
      {"{ZERO}", zero},        {"{INF}", inf},         {"{NOT_A_NUMBER}", not_a_number},
      {"{ISINF}", is_inf},     {"{DROP}", drop},       {"{SIGN}", sign},
      {"{LOWEST}", lowest},    {"{NAN}", nan_text},    {"{LOW}", low_text},
      {"{DOWN}", down},        {"{UP}", up},           {"{OVERFLOW}", overflow},
  };
  rows.push_back({"tw_round_" + name, replaced(kRound, of)});
  rows.push_back({"tw_bits_" + name, replaced(kToBits, of)});
  rows.push_back({"tw_value_" + name, replaced(kFromBits, of)});
}

}  // namespace

std::vector<Helper> small_float_helpers() {
  std::vector<Helper> rows;
  rows.push_back({"tw_quantize", std::string(kQuantize)});
  for (const Shape& s : kShapes) add_rows(s, rows);
  for (const auto& [name, text] : kPowers) rows.push_back({std::string(name), std::string(text)});
  return rows;
}

}  // namespace tilewright::target::c_source
