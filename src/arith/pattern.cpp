// SPDX-License-Identifier: Apache-2.0
// Reads the text of the rules.
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "arith/rules.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::arith {
namespace {

using Kind = PatternNode::Kind;

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Pattern read() {
    skip_space();
    if (at_ != text_.size()) pattern_.root = binary(1);
    if (at_ != text_.size()) fail("text is left over");
    return std::move(pattern_);
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw InternalError(str("rule `", text_, "`, column ", at_ + 1, ": ", what));
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view token) {
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    skip_space();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail("another sign was expected");
  }
  int add(PatternNode node) {
    pattern_.nodes.push_back(node);
    return static_cast<int>(pattern_.nodes.size()) - 1;
  }

  /// The longest operator sign that stands here, of at least this precedence.
  bool take_operator(int precedence, ir::BinaryOp* op, bool* swapped) {
    std::string_view best;
    for (int i = 0; i < ir::kBinaryOpCount; ++i) {
      const auto candidate = static_cast<ir::BinaryOp>(i);
      const ir::BinaryInfo& info = ir::info(candidate);
      if (info.precedence == 0 || text_.compare(at_, info.text.size(), info.text) != 0) continue;
      if (info.text.size() > best.size()) {
        best = info.text;
        *op = candidate;
      }
    }
    *swapped = false;
    if (best.empty() && at_ < text_.size() && text_[at_] == '>') {  // a > b is b < a
      *swapped = true;
      *op = text_.compare(at_, 2, ">=") == 0 ? ir::BinaryOp::Le : ir::BinaryOp::Lt;
      best = *op == ir::BinaryOp::Le ? ">=" : ">";
    }
    if (best.empty() || ir::info(*op).precedence < precedence) return false;
    return take(best);
  }

  int binary(int precedence) {
    int left = unary();
    ir::BinaryOp op{};
    bool swapped = false;
    while (take_operator(precedence, &op, &swapped)) {
      const int right = binary(ir::info(op).precedence + 1);
      PatternNode node;
      node.kind = Kind::Binary;
      node.binary = op;
      node.child[0] = swapped ? right : left;
      node.child[1] = swapped ? left : right;
      left = add(node);
    }
    return left;
  }

  int unary() {
    if (std::isdigit(static_cast<unsigned char>(peek(0))) ||
        (peek(0) == '-' && std::isdigit(static_cast<unsigned char>(peek(1)))))
      return number();
    for (const ir::UnaryOp op : {ir::UnaryOp::Neg, ir::UnaryOp::Not, ir::UnaryOp::BitNot}) {
      if (!take(ir::info(op).text)) continue;
      PatternNode node;
      node.kind = Kind::Unary;
      node.unary = op;
      node.child[0] = unary();
      return add(node);
    }
    if (take("(")) {
      const int inner = binary(1);
      expect(")");
      return inner;
    }
    return name();
  }

  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  int number() {
    char* end = nullptr;
    PatternNode node;
    node.kind = Kind::Literal;
    node.literal = std::strtod(text_.c_str() + at_, &end);
    at_ = static_cast<size_t>(end - text_.c_str());
    skip_space();
    return add(node);
  }

  int name() {
    std::string word;
    while (std::isalnum(static_cast<unsigned char>(peek(0)))) word += text_[at_++];
    skip_space();
    PatternNode node;
    constexpr const char* kOperands = "xyzwpqr";
    if (word == "true" || word == "false") {
      node.kind = Kind::Literal;
      node.is_bool = true;
      node.literal = word == "true";
    } else if (word == "min" || word == "max") {
      node.kind = Kind::Binary;
      node.binary = word == "min" ? ir::BinaryOp::Min : ir::BinaryOp::Max;
      arguments(node, 2);
    } else if (word == "abs") {
      node.kind = Kind::Unary;
      node.unary = ir::UnaryOp::Abs;
      arguments(node, 1);
    } else if (word == "select" || word == "guard") {
      node.kind = word == "select" ? Kind::Select : Kind::Guard;
      arguments(node, 3);
    } else if (word.size() == 2 && word[0] == 'c' && word[1] >= '1' &&
               word[1] < '1' + kConstantSlots) {
      node.kind = Kind::Constant;
      node.slot = static_cast<uint8_t>(word[1] - '1');
    } else if (const char* found = word.size() == 1 ? std::strchr(kOperands, word[0]) : nullptr) {
      node.kind = Kind::Operand;
      node.slot = static_cast<uint8_t>(found - kOperands);
      node.is_bool = word[0] == 'p' || word[0] == 'q' || word[0] == 'r';
    } else {
      fail("no such name");
    }
    return add(node);
  }

  void arguments(PatternNode& node, int count) {
    expect("(");
    for (int i = 0; i < count; ++i) {
      if (i > 0) expect(",");
      node.child[i] = binary(1);
    }
    expect(")");
  }

  const std::string text_;
  size_t at_ = 0;
  Pattern pattern_;
};

}  // namespace

Pattern parse_pattern(const std::string& text) { return Reader(text).read(); }

Rule parse_rule(const RuleText& text) {
  Rule rule{&text, parse_pattern(text.pattern), parse_pattern(text.replacement),
            parse_pattern(text.condition), true};
  for (const PatternNode& n : rule.condition.nodes)
    if (n.kind == Kind::Operand) rule.condition_on_constants = false;
  return rule;
}

}  // namespace tilewright::arith
