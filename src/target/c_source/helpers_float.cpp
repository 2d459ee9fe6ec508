// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.h"
#include "ir/type.h"
#include "support/str.h"
#include "target/c_source/helpers.h"

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kBits[][2] = {
    {"TW_INFINITY", R"(
#define TW_INFINITY (1.0f / 0.0f)
)"},
    {"TW_NAN", R"(
#define TW_NAN (0.0f / 0.0f)
)"},
    {"tw_bits_f32", R"(
{inline} uint32_t tw_bits_f32(float x) {
  const union { float f; uint32_t u; } v = {x};
  return v.u;
}
)"},
    {"tw_value_f32", R"(
{inline} float tw_value_f32(uint32_t bits) {
  const union { uint32_t u; float f; } v = {bits};
  return v.f;
}
)"},
    {"tw_bits_f64", R"(
{inline} uint64_t tw_bits_f64(double x) {
  const union { double f; uint64_t u; } v = {x};
  return v.u;
}
)"},
    {"tw_value_f64", R"(
{inline} double tw_value_f64(uint64_t bits) {
  const union { uint64_t u; double f; } v = {bits};
  return v.f;
}
)"},
};

// The first of two equal values wins, so that min(0, -0) is 0; NaN wins over everything.
constexpr std::string_view kOfEach[][2] = {
    {"tw_min_{N}", R"(
/* NaN if one of them is; of two zeros the first. */
{inline} {T} tw_min_{N}({T} a, {T} b) { return a != a ? a : b != b ? b : b < a ? b : a; }
)"},
    {"tw_max_{N}", R"(
/* NaN if one of them is; of two zeros the first. */
{inline} {T} tw_max_{N}({T} a, {T} b) { return a != a ? a : b != b ? b : a < b ? b : a; }
)"},
    {"tw_abs_{N}", R"(
{inline} {T} tw_abs_{N}({T} x) { return tw_value_{N}(tw_bits_{N}(x) & ~({U}1 << {SIGN})); }
)"},
    {"tw_isnan_{N}", R"(
{inline} bool tw_isnan_{N}({T} x) { return x != x; }
)"},
    {"tw_isinf_{N}", R"(
{inline} bool tw_isinf_{N}({T} x) { return tw_abs_{N}(x) == ({T})TW_INFINITY; }
)"},
};

constexpr std::string_view kRounding[][2] = {
    {"tw_copysign", R"(
/* |x| with the sign of y. */
{inline} double tw_copysign(double x, double y) {
  const uint64_t sign = (uint64_t)1 << 63;
  return tw_value_f64((tw_bits_f64(x) & ~sign) | (tw_bits_f64(y) & sign));
}
)"},
    {"tw_trunc", R"(
{inline} double tw_trunc(double x) {
  if (!(tw_abs_f64(x) < 0x1p52)) return x;
  return tw_copysign((double)(int64_t)x, x);
}
)"},
    {"tw_floor", R"(
{inline} double tw_floor(double x) {
  const double t = tw_trunc(x);
  return t > x ? t - 1 : t;
}
)"},
    {"tw_ceil", R"(
{inline} double tw_ceil(double x) {
  const double t = tw_trunc(x);
  return t < x ? t + 1 : t;
}
)"},
    {"tw_round", R"(
/* To the nearest integer, halves to the even one. */
{inline} double tw_round(double x) {
  const double a = tw_abs_f64(x);
  if (!(a < 0x1p52)) return x;
  return tw_copysign((a + 0x1p52) - 0x1p52, x);
}
)"},
    {"tw_odd_i64", R"(
/* v as a double; when it needs more bits, the last one says that some are missing. */
{inline} double tw_odd_i64(int64_t v) {
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  if (u >> 53) u = (u & ~(uint64_t)0x7ff) | ((uint64_t)((u & 0x7ff) != 0) << 11);
  return v < 0 ? -(double)u : (double)u;
}
)"},
    {"tw_odd_u64", R"(
/* v as a double; when it needs more bits, the last one says that some are missing. */
{inline} double tw_odd_u64(uint64_t v) {
  if (v >> 53) v = (v & ~(uint64_t)0x7ff) | ((uint64_t)((v & 0x7ff) != 0) << 11);
  return (double)v;
}
)"},
};

constexpr std::string_view kToInt = R"(
/* Towards zero; the nearest {N} when out of range, 0 for NaN. */
{inline} {T} tw_to_{N}(double v) {
  if (v != v) return 0;
  if (v <= {LO}) return {MIN};
  if (v >= {HI}) return {MAX};
  return ({T})v;
}
)";

std::string exact(double v) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", v);
  return text;
}

Helper to_int(ir::Elem e) {
  const int stored = ir::bits(e) < 8 ? 8 : ir::bits(e);
  const std::string name(ir::name(e)), type = str(ir::is_signed(e) ? "int" : "uint", stored, "_t");
  const int64_t least = ir::int_min(e);
  const uint64_t greatest = ir::int_max(e);
  const std::string max = greatest == UINT64_MAX  ? "UINT64_MAX"
                          : greatest == INT64_MAX ? "INT64_MAX"
                                                  : str(greatest, greatest > INT32_MAX ? "u" : "");
  const std::string min = least == INT64_MIN   ? "INT64_MIN"
                          : least == INT32_MIN ? "INT32_MIN"
                                               : str(least);
  const std::string lo = exact(static_cast<double>(least));
  const std::string hi = exact(static_cast<double>(greatest));
  return {"tw_to_" + name, replaced(kToInt, {{"{N}", name},
                                             {"{T}", type},
                                             {"{LO}", lo},
                                             {"{HI}", hi},
                                             {"{MIN}", min},
                                             {"{MAX}", max}})};
}

}  // namespace

std::vector<Helper> float_helpers() {
  using ir::Elem;
  std::vector<Helper> rows;
  for (const auto& [name, text] : kBits) rows.push_back({std::string(name), std::string(text)});
  const std::vector<Replacement> f32 = {
      {"{N}", "f32"}, {"{T}", "float"}, {"{U}", "(uint32_t)"}, {"{SIGN}", "31"}};
  const std::vector<Replacement> f64 = {
      {"{N}", "f64"}, {"{T}", "double"}, {"{U}", "(uint64_t)"}, {"{SIGN}", "63"}};
  for (const auto& type : {f32, f64})
    for (const auto& [name, text] : kOfEach)
      rows.push_back({replaced(name, type), replaced(text, type)});
  for (const auto& [name, text] : kRounding) rows.push_back({std::string(name), std::string(text)});
  for (const Elem e : {Elem::I2, Elem::I4, Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::U2,
                       Elem::U4, Elem::U8, Elem::U16, Elem::U32, Elem::U64})
    rows.push_back(to_int(e));
  return rows;
}

}  // namespace tilewright::target::c_source
