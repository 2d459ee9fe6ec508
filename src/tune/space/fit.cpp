// SPDX-License-Identifier: Apache-2.0
#include "tune/space/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace tilewright::tune {
namespace {

/// The numbers in a text, and the text without them.
struct Parts {
  std::string words;
  std::vector<double> numbers;
};
Parts parts_of(const std::string& text) {
  Parts out;
  for (size_t at = 0; at < text.size();) {
    size_t digits = 0;
    while (at + digits < text.size() && std::isdigit(static_cast<unsigned char>(text[at + digits])))
      ++digits;
    if (digits == 0) {
      out.words += text[at++];
      continue;
    }
    out.words += '#';
    out.numbers.push_back(std::strtod(text.substr(at, digits).c_str(), nullptr));
    at += digits;
  }
  return out;
}

/// In doublings; infinite when the texts differ in more than numbers.
double apart(const Parts& a, const Parts& b) {
  if (a.words != b.words) return INFINITY;
  double sum = 0;
  for (size_t i = 0; i < a.numbers.size(); ++i)
    sum += std::abs(std::log2((a.numbers[i] + 1) / (b.numbers[i] + 1)));
  return sum;
}

uint32_t nearest(const Knob& knob, const std::string& text) {
  const Parts wanted = parts_of(text);
  uint32_t best = 0;
  double least = INFINITY;
  for (uint32_t c = 0; c < knob.candidates.size(); ++c) {
    if (knob.text(c) == text) return c;
    // Places of an order are no sizes.
    const double d =
        knob.kind == KnobKind::Order ? INFINITY : apart(wanted, parts_of(knob.text(c)));
    if (d < least) {
      least = d;
      best = c;
    }
  }
  return best;
}

bool is_first(const Space& space, const std::string& name, const std::string& text) {
  const auto knob = std::ranges::find(space.knobs(), name, &Knob::name);
  return knob != space.knobs().end() && knob->text(0) == text;
}

}  // namespace

std::string decided(const Space& space, std::string_view point) {
  std::string out;
  std::istringstream words{std::string(point)};
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos ||
        is_first(space, word.substr(0, equals), word.substr(equals + 1)))
      continue;
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

std::optional<Point> fitted(const Space& to, std::string_view point) {
  Point out{std::vector<uint32_t>(to.knobs().size())};
  bool any = false;
  std::istringstream words{std::string(point)};
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return {};
    const std::string name = word.substr(0, equals), text = word.substr(equals + 1);
    const auto knob = std::ranges::find(to.knobs(), name, &Knob::name);
    if (knob == to.knobs().end()) continue;
    any = true;
    out.choice[static_cast<size_t>(knob - to.knobs().begin())] = nearest(*knob, text);
  }
  if (!any) return {};
  ir::Random random(1);
  return to.legal(out) ? out : to.repaired(out, random);
}

}  // namespace tilewright::tune
