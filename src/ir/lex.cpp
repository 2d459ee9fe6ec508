// SPDX-License-Identifier: Apache-2.0
#include "ir/lex.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/str.h"

namespace tilewright::ir {
namespace {

// Lines and columns are 32-bit.
constexpr size_t kMaxText = size_t{1} << 30;

constexpr std::string_view kReserved[] = {
    "acquire", "agents", "alloc",    "async",      "atomic",  "barrier",  "bind",
    "block",   "call",   "channel",  "commit",     "else",    "false",    "for",
    "if",      "inf",    "let",      "nan",        "opaque",  "parallel", "prefetch",
    "release", "true",   "unrolled", "vectorized", "vthread", "wait",     "while",
};

// Longest first, so that the first match is the right one.
constexpr std::string_view kPuncts[] = {
    "..", "+:", "->", "&&", "||", "<<", ">>", "<=", ">=", "==", "!=", "(", ")",
    "[",  "]",  "{",  "}",  ",",  ";",  ":",  ".",  "=",  "+",  "-",  "*", "/",
    "%",  "&",  "|",  "^",  "<",  ">",  "!",  "~",  "@",  "?",  "$",
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// At most `limit` changes of one letter away; limit + 1 when further.
size_t distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), is_word);
}

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::End) return "the end of the text";
  if (token.kind == TokenKind::String) return "a string";
  constexpr size_t kShown = 60;
  if (token.text.size() > kShown) return str("`", token.text.substr(0, kShown), "…`");
  return str("`", token.text, "`");
}

std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > 64) return {};
  std::string_view best;
  size_t limit = word.size() <= 2 ? 1 : 2;
  for (const std::string_view candidate : candidates) {
    const size_t d = distance(word, candidate, limit);
    if (d > limit || (d == limit && !best.empty())) continue;
    best = candidate;
    limit = d;
  }
  return best;
}

Cursor::Cursor(std::shared_ptr<const Source> source)
    : source_(std::move(source)), text_(source_->text) {
  if (text_.size() > kMaxText)
    fail("ir.parse.size", Token{}, str("the text has ", text_.size(), " bytes"),
         str("split it into files of at most ", kMaxText, " bytes"));
  now_ = lex();
  after_ = lex();
}

Token Cursor::next() {
  const Token out = now_;
  now_ = after_;
  after_ = lex();
  return out;
}

void Cursor::back_to(const Mark& mark) {
  pos_ = mark.pos;
  line_ = mark.line;
  line_start_ = mark.line_start;
  now_ = mark.now;
  after_ = mark.after;
}

bool Cursor::accept(std::string_view name_or_punct) {
  if (!at(name_or_punct)) return false;
  next();
  return true;
}

Token Cursor::expect(std::string_view name_or_punct, std::string_view where) {
  if (!at(name_or_punct))
    fail_expected(str("`", name_or_punct, "` ", where), str("write `", name_or_punct, "` here"));
  return next();
}

Token Cursor::expect_name(std::string_view what) {
  if (now_.kind == TokenKind::Name && is_reserved(now_.text))
    fail("ir.parse.reserved", now_, str("`", now_.text, "` cannot name ", what),
         str("choose another name, for example `", now_.text, "_`"),
         {str("`", now_.text, "` is a word of the language")});
  return expect_word(what);
}

Token Cursor::expect_word(std::string_view what) {
  if (now_.kind != TokenKind::Name)
    fail_expected(str("the name of ", what), "a name is letters, digits and `_`, no digit first");
  return next();
}

int64_t Cursor::expect_int(std::string_view what, int64_t lo, int64_t hi) {
  const Token first = now_;
  const bool negative = accept("-");
  if (now_.kind != TokenKind::Int)
    fail_expected(str(what, ", an integer"), "write a decimal integer");
  const Token digits = next();
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.text.data(), digits.text.data() + digits.text.size(), magnitude);
  const uint64_t most = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
  const bool fits = error == std::errc() && magnitude <= most;
  const auto value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  if (!fits || value < lo || value > hi)
    fail("ir.parse.range", first,
         str(what, " cannot be ", negative ? "-" : "", digits.text.substr(0, 40)),
         str("write an integer from ", lo, " to ", hi));
  return value;
}

std::string Cursor::expect_string(std::string_view what) {
  if (now_.kind != TokenKind::String)
    fail_expected(str(what, " as a string"), "write it in double quotes");
  const Token token = next();
  const std::string_view in = token.text.substr(1, token.text.size() - 2);
  std::string out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '\\') {
      out += in[i];
    } else if (in[i + 1] == 'x') {  // lex_string has checked what follows a backslash
      out += static_cast<char>(hex_value(in[i + 2]) * 16 + hex_value(in[i + 3]));
      i += 3;
    } else {
      out += in[++i];
    }
  }
  return out;
}

void Cursor::fail(std::string_view code, const Token& at, std::string message, std::string help,
                  std::vector<std::string> notes) const {
  throw Error({.code = code,
               .at = span(at),
               .message = std::move(message),
               .notes = std::move(notes),
               .help = std::move(help)});
}

void Cursor::fail_expected(std::string_view what, std::string help) const {
  fail(at_end() ? "ir.parse.end" : "ir.parse.expected", now_,
       str("expected ", what, ", found ", describe(now_)), std::move(help));
}

Token Cursor::token(TokenKind kind, size_t start, size_t end) {
  pos_ = end;
  return {kind, text_.substr(start, end - start), line_,
          static_cast<int32_t>(start - line_start_ + 1)};
}

void Cursor::skip_space() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++pos_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++pos_;
    } else if (text_.compare(pos_, 2, "//") == 0) {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    } else {
      return;
    }
  }
}

Token Cursor::lex() {
  skip_space();
  const size_t start = pos_;
  if (start == text_.size()) return token(TokenKind::End, start, start);
  const char c = text_[start];
  if (is_letter(c)) {
    size_t end = start;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const Token name = token(TokenKind::Name, start, end);
    if (name.text.size() > kMaxName)
      fail("ir.parse.name", name, str("a name of ", name.text.size(), " letters"),
           str("use at most ", kMaxName, " letters"));
    return name;
  }
  if (is_digit(c)) return lex_number(start);
  if (c == '"') return lex_string(start);
  for (const std::string_view punct : kPuncts)
    if (text_.compare(start, punct.size(), punct) == 0)
      return token(TokenKind::Punct, start, start + punct.size());
  const auto byte = static_cast<unsigned char>(c);
  const Token bad = token(TokenKind::Punct, start, start + 1);
  const std::string shown = quoted(bad.text);
  fail("ir.parse.character", bad,
       byte < 0x80 ? str("the character ", shown, " has no meaning here")
                   : "a character outside of ASCII has no meaning here",
       "remove it; comments, which start with `//`, and strings may hold any character");
}

Token Cursor::lex_number(size_t start) {
  size_t end = start;
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  const auto digit_at = [&](size_t i) { return i < text_.size() && is_digit(text_[i]); };
  digits();
  TokenKind kind = TokenKind::Int;
  if (end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {  // not the range `0..4`
    kind = TokenKind::Float;
    ++end;
    digits();
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    const bool sign = end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-');
    if (digit_at(end + 1 + (sign ? 1 : 0))) {
      kind = TokenKind::Float;
      end += sign ? 2 : 1;
      digits();
    }
  }
  const Token number = token(kind, start, end);
  if (end < text_.size() && is_letter(text_[end]))
    fail("ir.parse.number", number,
         str("the number ", describe(number), " is followed by `", text_[end], "`"),
         "write a type after a colon, as in `1:i32`, or put a space between");
  return number;
}

Token Cursor::lex_string(size_t start) {
  size_t end = start + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
    if (text_[end] == '\\') {
      const char c = end + 1 < text_.size() ? text_[end + 1] : '\0';
      const bool hex = c == 'x' && end + 3 < text_.size() && hex_value(text_[end + 2]) >= 0 &&
                       hex_value(text_[end + 3]) >= 0;
      if (c != '"' && c != '\\' && !hex)
        fail("ir.parse.string", token(TokenKind::String, end, end + 1),
             "a backslash in a string is followed by something unknown",
             "write `\\\\`, `\\\"` or `\\x` and two hexadecimal digits");
      end += hex ? 4 : 2;
    } else {
      ++end;
    }
  }
  if (end >= text_.size() || text_[end] != '"')
    fail("ir.parse.string", token(TokenKind::String, start, start + 1), "this string has no end",
         "close it with `\"` on the same line");
  return token(TokenKind::String, start, end + 1);
}

}  // namespace tilewright::ir
