// SPDX-License-Identifier: Apache-2.0
// Texts: UTF-8, splitting, numbers, and patterns.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace tilewright::runtime {

/// The code point at `at`, which moves behind it. Bytes that are no UTF-8 are themselves.
uint32_t next_code_point(std::string_view text, size_t& at);

enum class Letters : uint8_t { Same, Lower, Upper };
/// In place: ASCII, Latin-1, Greek and Cyrillic letters, whose two cases take as many bytes.
void change_letters(std::span<char> text, Letters to);
bool equal_without_case(std::string_view a, std::string_view b);

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Splits at a delimiter, or without one at white space, at most so many times (-1: any).
struct Splitter {
  std::string_view delimiter;
  int64_t most = -1;

  template <class F>
  void each(std::string_view text, F&& f) const {
    int64_t left = most;
    if (!delimiter.empty()) {
      for (size_t at = text.find(delimiter); at != text.npos && left != 0;
           at = text.find(delimiter), --left) {
        f(std::string_view(text.data(), at));
        text.remove_prefix(at + delimiter.size());
      }
      f(text);
      return;
    }
    while (true) {
      while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
      if (text.empty()) return;
      size_t end = 0;
      while (end < text.size() && !is_space(text[end])) ++end;
      if (left-- == 0) end = text.size();
      f(std::string_view(text.data(), end));
      text.remove_prefix(end);
    }
  }
};

/// In the C locale, whatever the program's is. False for what is no number.
bool parse_float(std::string_view text, double& out);
bool parse_float(std::string_view text, float& out);
/// The shortest text that reads back to the same number.
std::string_view print_float(double value, std::span<char, 64> text);
std::string_view print_float(float value, std::span<char, 64> text);

/// White space around the number, a plus sign, `inf` and `nan` in any case are fine.
template <class T>
bool parse_number(std::string_view text, T& out) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return false;
  if constexpr (std::is_floating_point_v<T>) {
    return parse_float(text, out);
  } else {
    const char* end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, out);
    if (read.ec == std::errc() && read.ptr == end) return true;
    double value = 0;  // `1e3`, `2.0`
    if (!parse_float(text, value) || !(value > -9.2e18 && value < 9.2e18)) return false;
    out = static_cast<T>(static_cast<int64_t>(value));
    return true;
  }
}

template <class T>
std::string_view print_number(T value, std::span<char, 64> text) {
  if constexpr (std::is_floating_point_v<T>) {
    return print_float(value, text);
  } else {
    const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), static_cast<size_t>(end.ptr - text.data())};
  }
}

/// A regular expression of RE2's syntax without captures: . [] () (?:) | * + ? {m,n} ^ $ \b \B \d
/// \w \s and their opposites. Runs in time proportional to text times pattern.
class Pattern {
 public:
  /// nullptr, or what is wrong: "has …".
  const char* compile(std::string_view pattern);
  /// Does all of the text match?
  bool matches(std::string_view text) const;

 private:
  enum class Op : uint8_t { Char, Any, Class, Split, Jump, Begin, End, Word, NotWord, Match };
  struct Step {
    Op op;
    uint32_t a, b;  // code point; offsets of a class in the pattern; targets
  };
  static constexpr uint32_t kMaxSteps = 4000;
  static constexpr int kMaxDepth = 100;
  struct Set {
    uint32_t count = 0;
    uint16_t items[kMaxSteps];
    bool has[kMaxSteps];
  };

  bool alternatives(int depth);
  bool sequence(int depth);
  bool repeated(int depth);
  bool atom(int depth);
  bool bracket();
  bool fail(const char* why);
  uint32_t emit(Op op, uint32_t a = 0, uint32_t b = 0);
  bool in_class(uint32_t c, uint32_t begin, uint32_t end) const;
  void add(Set& set, uint32_t step, std::string_view text, size_t at) const;

  std::string_view pattern_;
  size_t at_ = 0;
  const char* problem_ = nullptr;
  uint32_t count_ = 0;
  Step steps_[kMaxSteps];
};

}  // namespace tilewright::runtime
