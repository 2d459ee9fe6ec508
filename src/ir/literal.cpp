// SPDX-License-Identifier: Apache-2.0
#include "ir/literal.h"

#include <charconv>
#include <cmath>

#include "ir/scalar.h"

namespace tilewright::ir {
namespace {

template <class Float>
std::optional<double> read(std::string_view digits) {
  Float value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return static_cast<double>(value);
}

template <class Float, class... Precision>
std::string write(Float value, Precision... precision) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, precision...);
  return {buffer, end};
}

std::string shortest(Elem elem, double value) {
  if (elem == Elem::F64) return write(value);
  if (elem == Elem::F32) return write(static_cast<float>(value));
  // Narrower types have no to_chars of their own: the fewest digits that read back.
  for (int digits = 1; digits <= 9; ++digits) {
    const std::string text = write(value, std::chars_format::general, digits);
    if (parse_float(elem, text) == value) return text;
  }
  return write(value);
}

}  // namespace

std::string print_float(Elem elem, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = shortest(elem, std::fabs(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return std::signbit(value) ? "-" + text : text;
}

std::optional<double> parse_float(Elem elem, std::string_view digits) {
  if (elem == Elem::F32) return read<float>(digits);
  const std::optional<double> value = read<double>(digits);
  if (!value) return std::nullopt;
  const double rounded = round_to(elem, *value);
  return std::isfinite(rounded) ? std::optional(rounded) : std::nullopt;
}

}  // namespace tilewright::ir
