// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"
#include "support/str.h"
#include "target/c_source/helpers.h"

namespace tilewright::target::c_source {
namespace {

constexpr std::string_view kSigned[][2] = {
    {"tw_add_{N}", R"(
/* a + b modulo 2^{W}. */
{inline} {T} tw_add_{N}({T} a, {T} b) { return ({T})(({U})a + ({U})b); }
)"},
    {"tw_sub_{N}", R"(
/* a - b modulo 2^{W}. */
{inline} {T} tw_sub_{N}({T} a, {T} b) { return ({T})(({U})a - ({U})b); }
)"},
    {"tw_mul_{N}", R"(
/* a * b modulo 2^{W}. */
{inline} {T} tw_mul_{N}({T} a, {T} b) { return ({T})(({U})a * ({U})b); }
)"},
    {"tw_neg_{N}", R"(
/* -a modulo 2^{W}. */
{inline} {T} tw_neg_{N}({T} a) { return ({T})(0 - ({U})a); }
)"},
    {"tw_abs_{N}", R"(
/* |a|; the least value stays itself. */
{inline} {T} tw_abs_{N}({T} a) { return a < 0 ? ({T})(0 - ({U})a) : a; }
)"},
    {"tw_div_{N}", R"(
/* a / b rounded down; a / 0 is 0, and the least value / -1 is itself. */
{inline} {T} tw_div_{N}({T} a, {T} b) {
  if (b == 0) return 0;
  if (b == -1) return ({T})(0 - ({U})a);
  return ({T})(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
)"},
    {"tw_mod_{N}", R"(
/* The rest of the division that rounds down, with the sign of b; a % 0 is 0. */
{inline} {T} tw_mod_{N}({T} a, {T} b) {
  if (b == 0 || b == -1) return 0;
  const {T} rest = ({T})(a % b);
  return ({T})(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
)"},
    {"tw_shr_{N}", R"(
/* a >> b with copies of the sign; by {W} or more, or less than 0: only the sign is left. */
{inline} {T} tw_shr_{N}({T} a, {T} b) {
  return ({T})((uint64_t)b >= {W} ? (a < 0 ? -1 : 0) : a >> b);
}
)"},
};

constexpr std::string_view kUnsigned[][2] = {
    {"tw_div_{N}", R"(
/* a / b; a / 0 is 0. */
{inline} {T} tw_div_{N}({T} a, {T} b) { return ({T})(b == 0 ? 0 : a / b); }
)"},
    {"tw_mod_{N}", R"(
/* a % b; a % 0 is 0. */
{inline} {T} tw_mod_{N}({T} a, {T} b) { return ({T})(b == 0 ? 0 : a % b); }
)"},
    {"tw_shr_{N}", R"(
/* a >> b; 0 when b is {W} or more. */
{inline} {T} tw_shr_{N}({T} a, {T} b) { return ({T})(b >= {W} ? 0 : a >> b); }
)"},
};

constexpr std::string_view kBoth[][2] = {
    {"tw_min_{N}", R"(
{inline} {T} tw_min_{N}({T} a, {T} b) { return b < a ? b : a; }
)"},
    {"tw_max_{N}", R"(
{inline} {T} tw_max_{N}({T} a, {T} b) { return a < b ? b : a; }
)"},
    {"tw_shl_{N}", R"(
/* a << b modulo 2^{W}; 0 when b is {W} or more, or less than 0. */
{inline} {T} tw_shl_{N}({T} a, {T} b) {
  return ({T})((uint64_t)b >= {W} ? 0 : ({U})a << b);
}
)"},
};

constexpr std::string_view kPacked[][2] = {
    {"tw_load_{N}", R"(
/* Element i of an array of {N}, packed from the low end of each byte on. */
{inline} {T} tw_load_{N}(const uint8_t* p, int64_t i) {
  return tw_wrap_{N}(p[i / {PER}] >> (i % {PER} * {W}));
}
)"},
    {"tw_store_{N}", R"(
/* Sets element i of an array of {N} and leaves its neighbours in the byte. */
{inline} void tw_store_{N}(uint8_t* p, int64_t i, int v) {
  const int at = (int)(i % {PER}) * {W};
  p[i / {PER}] = (uint8_t)((p[i / {PER}] & ~({MASK} << at)) | ((v & {MASK}) << at));
}
)"},
};

constexpr std::string_view kWrapSigned = R"(
/* The low {W} bits of v as a signed number. */
{inline} {T} tw_wrap_{N}(int v) { return ({T})(((v & {MASK}) ^ {SIGN}) - {SIGN}); }
)";
constexpr std::string_view kWrapUnsigned = R"(
/* The low {W} bits of v. */
{inline} {T} tw_wrap_{N}(int v) { return ({T})(v & {MASK}); }
)";

constexpr std::string_view kCounts[][2] = {
    {"tw_popcount", R"(
/* The number of bits that are set. */
{inline} int tw_popcount(uint64_t v) {
  int n = 0;
  for (; v != 0; v &= v - 1) ++n;
  return n;
}
)"},
    {"tw_clz", R"(
/* The number of zero bits above the highest one that is set. */
{inline} int tw_clz(uint64_t v, int bits) {
  int n = bits;
  for (; v != 0; v >>= 1) --n;
  return n;
}
)"},
};

}  // namespace

std::vector<Helper> integer_helpers() {
  using ir::Elem;
  std::vector<Helper> rows;
  for (const Elem e : {Elem::I2, Elem::I4, Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::U2,
                       Elem::U4, Elem::U8, Elem::U16, Elem::U32, Elem::U64}) {
    const int width = ir::bits(e), stored = width < 8 ? 8 : width;
    const std::string name(ir::name(e)), w = str(width);
    const std::string unsigned_type = str("uint", stored, "_t");
    const std::string type = ir::is_signed(e) ? str("int", stored, "_t") : unsigned_type;
    const std::string mask = str((1 << (width % 8)) - 1), sign = str(1 << (width % 8) >> 1);
    const std::string per_byte = str(8 / width);
    const std::vector<Replacement> of = {
        {"{N}", name},    {"{T}", type},    {"{U}", unsigned_type}, {"{W}", w},
        {"{MASK}", mask}, {"{SIGN}", sign}, {"{PER}", per_byte}};
    const auto add = [&](const auto& list) {
      for (const auto& [key, text] : list) rows.push_back({replaced(key, of), replaced(text, of)});
    };
    if (width < 8) {
      rows.push_back(
          {"tw_wrap_" + name, replaced(ir::is_signed(e) ? kWrapSigned : kWrapUnsigned, of)});
      add(kPacked);
    }
    if (ir::is_signed(e))
      add(kSigned);
    else
      add(kUnsigned);
    add(kBoth);
  }
  for (const auto& [name, text] : kCounts) rows.push_back({std::string(name), std::string(text)});
  return rows;
}

}  // namespace tilewright::target::c_source
