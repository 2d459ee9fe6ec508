// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <sstream>
#include <string>

namespace tilewright {
namespace detail {

template <class T>
concept Text =
    std::same_as<T, char> || requires(std::string& out, const T& part) { out.append(part); };
/// A stream would write the small ones as characters.
template <class T>
concept Number = std::integral<T> && sizeof(T) > 1;

template <class T>
void append(std::string& out, const T& part) {
  if constexpr (std::same_as<T, char>) {
    out.push_back(part);
  } else if constexpr (Text<T>) {
    out.append(part);
  } else {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
  }
}

}  // namespace detail

/// Concatenates anything that can be written to a stream: `str("cannot split `", name, "`")`.
template <class... Parts>
std::string str(const Parts&... parts) {
  if constexpr (((detail::Text<Parts> || detail::Number<Parts>) && ...)) {
    // Names and messages are made by the thousand, and a stream costs more than they do.
    std::string out;
    (detail::append(out, parts), ...);
    return out;
  } else {
    std::ostringstream out;
    (out << ... << parts);
    return std::move(out).str();
  }
}

}  // namespace tilewright
