// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::target::c_source {

/// How tightly the outermost operator of an expression binds, loosest first.
enum class Bind : uint8_t {
  Choice,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equal,
  Less,
  Shift,
  Sum,
  Product,
  Unary,
  Atom,
};

/// A C expression.
struct Text {
  std::string s;
  Bind bind = Bind::Atom;

  /// In parentheses unless it binds at least as tightly as `needed`.
  std::string in(Bind needed) const { return bind >= needed ? s : "(" + s + ")"; }
};

/// Statements of C, each with its indentation.
class Lines {
 public:
  void line(std::string text) { lines_.emplace_back(indent_, std::move(text)); }
  /// `head {`, and what follows stands inside until close().
  void open(const std::string& head) {
    line(head.empty() ? "{" : head + " {");
    ++indent_;
  }
  void close(const std::string& tail = "}") {
    --indent_;
    line(tail);
  }
  /// Between two parts of one statement: `} else {`.
  void reopen(std::string text) {
    --indent_;
    line(std::move(text));
    ++indent_;
  }
  /// The other lines, at this indentation.
  void append(const Lines& other) {
    for (const auto& [indent, text] : other.lines_) lines_.emplace_back(indent_ + indent, text);
  }
  /// `head` with the lines inside; without braces around a single one.
  void wrap(const std::string& head, const Lines& inside) {
    const bool braces = inside.lines_.size() != 1;
    line(braces ? head + " {" : head);
    ++indent_;
    append(inside);
    --indent_;
    if (braces) line("}");
  }
  bool empty() const { return lines_.empty(); }
  std::string text() const {
    std::string out;
    for (const auto& [indent, text] : lines_) {
      if (!text.empty()) out.append(static_cast<size_t>(indent) * 2, ' ');
      out += text;
      out += '\n';
    }
    return out;
  }

 private:
  int indent_ = 0;
  std::vector<std::pair<int, std::string>> lines_;
};

}  // namespace tilewright::target::c_source
