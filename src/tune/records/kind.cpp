// SPDX-License-Identifier: Apache-2.0
#include "tune/records/kind.h"

#include <cctype>
#include <charconv>
#include <cmath>

namespace tilewright::tune {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Is it `0.5` or `1e-05`, whole?
bool is_fraction(std::string_view word) {
  double value = 0;
  const auto [end, problem] = std::from_chars(word.begin(), word.end(), value);
  return problem == std::errc() && end == word.end() &&
         word.find_first_of(".e") != std::string_view::npos;
}

/// Where the word that starts here ends: a name, `56`, or a number with a fraction or an exponent.
size_t end_of_word(std::string_view text, size_t at) {
  const bool number = is_digit(text[at]);
  while (at < text.size()) {
    const bool fraction =
        number && text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]);
    const bool sign = number && (text[at] == '-' || text[at] == '+') && text[at - 1] == 'e';
    if (!is_word(text[at]) && !fraction && !sign) break;
    ++at;
  }
  return at;
}

}  // namespace

Kind kind_of(std::string_view workload) {
  Kind out;
  for (size_t at = 0; at < workload.size();) {
    if (!is_word(workload[at])) {
      out.text += workload[at++];
      continue;
    }
    const std::string_view word = workload.substr(at, end_of_word(workload, at) - at);
    at += word.size();
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(word.begin(), word.end(), value);
    if (problem == std::errc() && end == word.end()) {
      out.numbers.push_back(value);
      out.text += '#';
    } else if (is_digit(word[0]) && is_fraction(word)) {
      out.text += '~';
    } else {
      out.text += word;
    }
  }
  return out;
}

double distance(const Kind& a, const Kind& b) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < a.numbers.size() && i < b.numbers.size(); ++i) {
    if (a.numbers[i] == b.numbers[i]) continue;
    sum += std::abs(
        std::log2(static_cast<double>(a.numbers[i] + 1) / static_cast<double>(b.numbers[i] + 1)));
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace tilewright::tune
