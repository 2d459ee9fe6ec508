// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_ops/text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <locale.h>

namespace tilewright::runtime {
namespace {

/// The other case of a code point below 0x800; itself when it has none.
uint32_t changed(uint32_t c, Letters to) {
  struct Range {
    uint32_t upper, count, distance;
  };
  static constexpr Range ranges[] = {{'A', 26, 32},   {0xC0, 23, 32}, {0xD8, 7, 32},
                                     {0x391, 17, 32}, {0x3A3, 9, 32}, {0x410, 32, 32},
                                     {0x400, 16, 80}};
  for (const Range& r : ranges) {
    if (to == Letters::Lower && c >= r.upper && c < r.upper + r.count) return c + r.distance;
    const uint32_t lower = r.upper + r.distance;
    if (to == Letters::Upper && c >= lower && c < lower + r.count) return c - r.distance;
  }
  return c;
}

bool is_word(uint32_t c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// \d, \w, \s and their opposites; false for another letter.
bool shorthand(uint32_t letter, uint32_t c, bool& is) {
  switch (letter | 0x20) {
    case 'd': is = c >= '0' && c <= '9'; break;
    case 'w': is = is_word(c); break;
    case 's': is = c < 0x80 && is_space(static_cast<char>(c)); break;
    default: return false;
  }
  if (letter < 'a') is = !is;
  return true;
}

uint32_t escaped(uint32_t c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    default: return c;
  }
}

/// Where the program's locale has another decimal point, one of it stands for the dot.
char decimal_point() { return *localeconv()->decimal_point; }

template <class T>
bool parse(std::string_view text, T& out, T (*read)(const char*, char**)) {
  char copy[128];
  if (text.size() >= sizeof copy) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool fine = (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' ||
                      (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!fine || c == 'x' || c == 'X') return false;
    copy[i] = c == '.' ? decimal_point() : c;
  }
  copy[text.size()] = 0;
  char* end = copy;
  out = read(copy, &end);
  return end == copy + text.size();
}

template <class T>
std::string_view print(T value, std::span<char, 64> text, T (*read)(const char*, char**)) {
  if (value != value) return "NaN";
  if (value - value != 0) return value < 0 ? "-INF" : "INF";
  int length = 0;
  for (int digits = 1; digits <= 17; ++digits) {
    length = snprintf(text.data(), text.size(), "%.*g", digits, static_cast<double>(value));
    if (read(text.data(), nullptr) == value) break;
  }
  for (int i = 0; i < length; ++i)
    if (text[static_cast<size_t>(i)] == decimal_point()) text[static_cast<size_t>(i)] = '.';
  return {text.data(), static_cast<size_t>(length)};
}

}  // namespace

bool parse_float(std::string_view text, double& out) { return parse(text, out, strtod); }
bool parse_float(std::string_view text, float& out) { return parse(text, out, strtof); }
std::string_view print_float(double value, std::span<char, 64> text) {
  return print(value, text, strtod);
}
std::string_view print_float(float value, std::span<char, 64> text) {
  return print(value, text, strtof);
}

uint32_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at++);
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  if (more == 0 || at + more > text.size()) return first;
  uint32_t c = first & (0x3FU >> more);
  for (size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return first;
    c = c << 6 | (byte(at + i) & 0x3FU);
  }
  at += more;
  return c;
}

void change_letters(std::span<char> text, Letters to) {
  if (to == Letters::Same) return;
  const std::string_view view(text.data(), text.size());
  for (size_t at = 0; at < view.size();) {
    const size_t start = at;
    const uint32_t c = changed(next_code_point(view, at), to);
    if (at - start == 1) {
      if (c < 0x80) text[start] = static_cast<char>(c);
    } else if (at - start == 2) {
      text[start] = static_cast<char>(0xC0 | c >> 6);
      text[start + 1] = static_cast<char>(0x80 | (c & 0x3F));
    }
  }
}

bool equal_without_case(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size())
    if (changed(next_code_point(a, i), Letters::Lower) !=
        changed(next_code_point(b, j), Letters::Lower))
      return false;
  return i == a.size() && j == b.size();
}

bool Pattern::fail(const char* why) {
  if (problem_ == nullptr) problem_ = why;
  return false;
}

uint32_t Pattern::emit(Op op, uint32_t a, uint32_t b) {
  if (count_ == kMaxSteps) {
    fail("is too large");
    return 0;
  }
  steps_[count_] = {op, a, b};
  return count_++;
}

const char* Pattern::compile(std::string_view pattern) {
  pattern_ = pattern;
  if (alternatives(0)) {
    if (at_ < pattern_.size()) fail("has a `)` without its `(`");
    emit(Op::Match);
  }
  return problem_;
}

/// Each way before the last starts with a split to the next one, and ends with a jump.
bool Pattern::alternatives(int depth) {
  if (depth > kMaxDepth) return fail("is nested too deeply");
  constexpr int kMaxWays = 256;
  uint32_t ends[kMaxWays];
  int ways = 0;
  while (true) {
    const uint32_t split = emit(Op::Split);
    steps_[split].a = count_;
    if (!sequence(depth)) return false;
    if (at_ == pattern_.size() || pattern_[at_] != '|') {
      steps_[split].b = steps_[split].a;  // the last way has no other
      break;
    }
    ++at_;
    if (ways == kMaxWays) return fail("has too many alternatives");
    ends[ways++] = emit(Op::Jump);
    steps_[split].b = count_;
  }
  for (int i = 0; i < ways; ++i) steps_[ends[i]].a = count_;
  return problem_ == nullptr;
}

bool Pattern::sequence(int depth) {
  while (at_ < pattern_.size() && pattern_[at_] != '|' && pattern_[at_] != ')')
    if (!repeated(depth)) return false;
  return true;
}

/// An atom and how often. Further copies are made by reading it again.
bool Pattern::repeated(int depth) {
  const size_t start = at_;
  const uint32_t first = emit(Op::Split);  // may skip the first copy
  steps_[first].a = steps_[first].b = count_;
  if (!atom(depth)) return false;
  int64_t least = 1, most = 1;
  size_t end = at_;
  if (end < pattern_.size() && pattern_[end] == '*')
    least = 0, most = -1, ++end;
  else if (end < pattern_.size() && pattern_[end] == '+')
    most = -1, ++end;
  else if (end < pattern_.size() && pattern_[end] == '?')
    least = 0, ++end;
  else if (end < pattern_.size() && pattern_[end] == '{') {
    const char* stop = pattern_.data() + pattern_.size();
    std::from_chars_result read = std::from_chars(pattern_.data() + end + 1, stop, least);
    most = least;
    if (read.ec == std::errc() && read.ptr < stop && *read.ptr == ',') {
      const char* after = read.ptr + 1;
      read = std::from_chars(after, stop, most);
      if (read.ptr == after) most = -1, read.ec = std::errc();
    }
    if (read.ec != std::errc() || read.ptr >= stop || *read.ptr != '}' || least < 0 ||
        (most >= 0 && most < least))
      return fail("has a `{` without its numbers");
    end = static_cast<size_t>(read.ptr - pattern_.data()) + 1;
  }
  if (end < pattern_.size() && end > at_ && pattern_[end] == '?') ++end;  // lazy: all the same here
  if (most == 0) {
    steps_[first] = {Op::Jump, count_, 0};
    at_ = end;
    return true;
  }
  uint32_t loop = steps_[first].a;  // where the last copy starts
  const auto copy = [&] {
    at_ = start;
    loop = count_;
    return atom(depth);
  };
  for (int64_t i = 1; i < least; ++i)
    if (!copy()) return false;
  if (least == 0) steps_[first].b = 0;  // set below, when the end is known
  if (most < 0) {
    const uint32_t again = emit(Op::Split, loop, 0);
    steps_[again].b = count_;
  }
  uint32_t pending = problem_ == nullptr && most > std::max<int64_t>(least, 1) ? count_ : 0;
  for (int64_t i = std::max<int64_t>(least, 1); i < most; ++i) {
    emit(Op::Split, count_ + 1, 0);
    if (!copy()) return false;
  }
  // Every optional copy may end the repetition.
  if (pending != 0)
    for (uint32_t s = pending; s < count_; ++s)
      if (steps_[s].op == Op::Split && steps_[s].b == 0) steps_[s].b = count_;
  if (least == 0) steps_[first].b = count_;
  at_ = end;
  return problem_ == nullptr;
}

bool Pattern::atom(int depth) {
  const char c = pattern_[at_];
  if (c == '(') {
    ++at_;
    if (at_ + 1 < pattern_.size() && pattern_[at_] == '?' && pattern_[at_ + 1] == ':')
      at_ += 2;
    else if (at_ < pattern_.size() && pattern_[at_] == '?')
      return fail("has a group with flags");
    if (!alternatives(depth + 1)) return false;
    if (at_ == pattern_.size() || pattern_[at_] != ')') return fail("has a `(` without its `)`");
    ++at_;
    return true;
  }
  if (c == '[') return bracket();
  if (c == '*' || c == '+' || c == '?') return fail("repeats nothing");
  if (c == '.') return ++at_, emit(Op::Any), true;
  if (c == '^') return ++at_, emit(Op::Begin), true;
  if (c == '$') return ++at_, emit(Op::End), true;
  if (c != '\\') return emit(Op::Char, next_code_point(pattern_, at_)), true;
  if (at_ + 1 == pattern_.size()) return fail("ends with a backslash");
  const size_t start = at_++;
  const uint32_t letter = next_code_point(pattern_, at_);
  bool unused = false;
  if (letter == 'b') return emit(Op::Word), true;
  if (letter == 'B') return emit(Op::NotWord), true;
  if (letter == 'A') return emit(Op::Begin), true;
  if (letter == 'z') return emit(Op::End), true;
  if (shorthand(letter, 0, unused))
    return emit(Op::Class, static_cast<uint32_t>(start), static_cast<uint32_t>(at_)), true;
  return emit(Op::Char, escaped(letter)), true;
}

bool Pattern::bracket() {
  const size_t start = at_++;
  if (at_ < pattern_.size() && pattern_[at_] == '^') ++at_;
  if (at_ < pattern_.size() && pattern_[at_] == ']') ++at_;  // the first one is itself
  while (at_ < pattern_.size() && pattern_[at_] != ']') at_ += pattern_[at_] == '\\' ? 2 : 1;
  if (at_ >= pattern_.size()) return fail("has a `[` without its `]`");
  ++at_;
  emit(Op::Class, static_cast<uint32_t>(start), static_cast<uint32_t>(at_));
  return true;
}

/// The class as it stands in the pattern: `\w`, or `[^a-z\d]`.
bool Pattern::in_class(uint32_t c, uint32_t begin, uint32_t end) const {
  std::string_view text(pattern_.data() + begin, end - begin);
  bool is = false;
  if (text[0] == '\\') {
    shorthand(static_cast<uint8_t>(text[1]), c, is);
    return is;
  }
  text = {text.data() + 1, text.size() - 2};
  const bool opposite = !text.empty() && text[0] == '^';
  if (opposite) text.remove_prefix(1);
  bool found = false;
  const auto one = [&](size_t& at, bool& is_set) {
    const bool escape = text[at] == '\\' && at + 1 < text.size();
    if (escape) ++at;
    const uint32_t low = next_code_point(text, at);
    is_set = escape && shorthand(low, c, is);
    return escape ? escaped(low) : low;
  };
  for (size_t at = 0; at < text.size();) {
    bool set = false, unused = false;
    const uint32_t low = one(at, set);
    if (set) {
      found = found || is;
      continue;
    }
    uint32_t high = low;
    if (at + 1 < text.size() && text[at] == '-') high = one(++at, unused);
    found = found || (low <= c && c <= high);
  }
  return found != opposite;
}

/// Adds a step and what can be reached from it without reading. Recursion is as deep as the pattern
/// is nested, but for long chains of splits, which go on in the loop.
void Pattern::add(Set& set, uint32_t step, std::string_view text, size_t at) const {
  while (!set.has[step]) {
    set.has[step] = true;
    const Step& s = steps_[step];
    const auto word_at = [&](size_t i) {
      return i < text.size() && is_word(static_cast<uint8_t>(text[i]));
    };
    const bool border = (at > 0 && word_at(at - 1)) != word_at(at);
    switch (s.op) {
      case Op::Jump: step = s.a; continue;
      case Op::Split:
        add(set, s.a, text, at);
        step = s.b;
        continue;
      case Op::Begin:
        if (at != 0) return;
        break;
      case Op::End:
        if (at != text.size()) return;
        break;
      case Op::Word:
        if (!border) return;
        break;
      case Op::NotWord:
        if (border) return;
        break;
      default: set.items[set.count++] = static_cast<uint16_t>(step); return;
    }
    ++step;
  }
}

bool Pattern::matches(std::string_view text) const {
  Set sets[2];
  const auto clear = [&](Set& set) {
    set.count = 0;
    std::fill(set.has, set.has + count_, false);
  };
  clear(sets[0]);
  add(sets[0], 0, text, 0);
  int now = 0;
  for (size_t at = 0; at < text.size(); now ^= 1) {
    const uint32_t c = next_code_point(text, at);
    Set& next = sets[now ^ 1];
    clear(next);
    for (uint32_t i = 0; i < sets[now].count; ++i) {
      const Step& s = steps_[sets[now].items[i]];
      const bool reads = (s.op == Op::Char && s.a == c) || (s.op == Op::Any && c != '\n') ||
                         (s.op == Op::Class && in_class(c, s.a, s.b));
      if (reads) add(next, sets[now].items[i] + 1U, text, at);
    }
  }
  for (uint32_t i = 0; i < sets[now].count; ++i)
    if (steps_[sets[now].items[i]].op == Op::Match) return true;
  return false;
}

}  // namespace tilewright::runtime
