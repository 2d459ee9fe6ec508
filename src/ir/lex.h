// SPDX-License-Identifier: Apache-2.0
// Tokens of `.tw` texts, for every layer that has items in them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace tilewright::ir {

enum class TokenKind : uint8_t { Name, Int, Float, String, Punct, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // as written, a string with its quotes
  int32_t line = 1, col = 1;

  bool is(std::string_view name_or_punct) const {
    return (kind == TokenKind::Name || kind == TokenKind::Punct) && text == name_or_punct;
  }
};

/// The place where a reader of a text stands. It looks one token ahead and never allocates per
/// token, so a text of any size is read in linear time.
class Cursor {
 public:
  explicit Cursor(std::shared_ptr<const Source> source);

  const Token& peek() const { return now_; }
  /// The token after `peek()`.
  const Token& peek_next() const { return after_; }
  Token next();

  bool at(std::string_view name_or_punct) const { return now_.is(name_or_punct); }
  bool at(TokenKind kind) const { return now_.kind == kind; }
  bool at_end() const { return now_.kind == TokenKind::End; }
  bool next_is(std::string_view name_or_punct) const { return after_.is(name_or_punct); }
  /// Steps over the token if it is this one.
  bool accept(std::string_view name_or_punct);
  /// Steps over the token, or reports that it is missing: `expect("]", "after the indices")`.
  Token expect(std::string_view name_or_punct, std::string_view where);
  /// A name that may be given to something: no reserved word.
  Token expect_name(std::string_view what);
  /// Any word, reserved or not: `load` as an agent, `block` as a barrier's participants.
  Token expect_word(std::string_view what);
  /// An integer with an optional minus, in lo … hi.
  int64_t expect_int(std::string_view what, int64_t lo = INT64_MIN, int64_t hi = INT64_MAX);
  /// The content of a string.
  std::string expect_string(std::string_view what);

  Span span() const { return span(now_); }
  Span span(const Token& token) const { return {source_, token.line, token.col}; }
  const std::shared_ptr<const Source>& source() const { return source_; }

  /// A position to come back to.
  struct Mark {
    size_t pos;
    int32_t line;
    size_t line_start;
    Token now, after;
  };
  Mark mark() const { return {pos_, line_, line_start_, now_, after_}; }
  void back_to(const Mark& mark);

  [[noreturn]] void fail(std::string_view code, const Token& at, std::string message,
                         std::string help, std::vector<std::string> notes = {}) const;
  /// `expected …, found …` at the current token.
  [[noreturn]] void fail_expected(std::string_view what, std::string help) const;

 private:
  Token lex();
  Token lex_number(size_t start);
  Token lex_string(size_t start);
  void skip_space();
  Token token(TokenKind kind, size_t start, size_t end);

  std::shared_ptr<const Source> source_;
  std::string_view text_;
  size_t pos_ = 0;
  int32_t line_ = 1;
  size_t line_start_ = 0;
  Token now_, after_;
};

/// A name must fit a message.
constexpr size_t kMaxName = 1000;

/// Is it a NAME of the grammar, whatever it means?
bool is_name(std::string_view text);
/// Words that start a statement or a literal.
bool is_reserved(std::string_view word);
/// The token for a message: `` `x` ``, `the end of the text`.
std::string describe(const Token& token);
/// `"a\"b"` for the text a"b.
std::string quoted(std::string_view text);
/// The candidate that someone who wrote `word` may have meant, or nothing.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace tilewright::ir
