// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include <charconv>

#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

using enum ElemClass;

constexpr ElemInfo kElems[kElemCount] = {
    {"bool", Bool, 8, 0, 0},     {"i2", Signed, 2, 0, 0},        {"i4", Signed, 4, 0, 0},
    {"i8", Signed, 8, 0, 0},     {"i16", Signed, 16, 0, 0},      {"i32", Signed, 32, 0, 0},
    {"i64", Signed, 64, 0, 0},   {"u2", Unsigned, 2, 0, 0},      {"u4", Unsigned, 4, 0, 0},
    {"u8", Unsigned, 8, 0, 0},   {"u16", Unsigned, 16, 0, 0},    {"u32", Unsigned, 32, 0, 0},
    {"u64", Unsigned, 64, 0, 0}, {"f8e4m3", Float, 8, 4, 3},     {"f8e4m3fnuz", Float, 8, 4, 3},
    {"f8e5m2", Float, 8, 5, 2},  {"f8e5m2fnuz", Float, 8, 5, 2}, {"f16", Float, 16, 5, 10},
    {"bf16", Float, 16, 8, 7},   {"f32", Float, 32, 8, 23},      {"f64", Float, 64, 11, 52},
    {"f4e2m1", Float, 4, 2, 1},  {"f8e8m0", Float, 8, 8, 0},
};

}  // namespace

const ElemInfo& info(Elem elem) { return kElems[static_cast<int>(elem)]; }

std::optional<Elem> elem_from_name(std::string_view name) {
  for (int i = 0; i < kElemCount; ++i)
    if (kElems[i].name == name) return static_cast<Elem>(i);
  return std::nullopt;
}

int64_t int_min(Elem e) {
  if (!is_signed(e)) return 0;
  return static_cast<int64_t>(uint64_t{1} << 63) >> (64 - bits(e));
}

uint64_t int_max(Elem e) {
  if (e == Elem::Bool) return 1;
  require(is_int(e), "int_max of a float type");
  const int value_bits = bits(e) - (is_signed(e) ? 1 : 0);
  return ~uint64_t{0} >> (64 - value_bits);
}

std::string print(Type type) {
  return type.lanes == 1 ? std::string(name(type.elem)) : str(name(type.elem), "x", type.lanes);
}

std::optional<Type> type_from_name(std::string_view name) {
  if (const std::optional<Elem> elem = elem_from_name(name)) return Type{*elem, 1};
  const size_t x = name.rfind('x');
  if (x == std::string_view::npos) return std::nullopt;
  const std::optional<Elem> elem = elem_from_name(name.substr(0, x));
  const std::string_view digits = name.substr(x + 1);
  int lanes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), lanes);
  if (!elem || error != std::errc() || end != digits.data() + digits.size() || digits[0] == '0' ||
      lanes < 2 || lanes > kMaxLanes)
    return std::nullopt;
  return Type{*elem, lanes};
}

}  // namespace tilewright::ir
