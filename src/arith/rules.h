// SPDX-License-Identifier: Apache-2.0
// The simplifier's rewrite rules, as data. tests/arith/rules_test.cpp proves each of them from this
// table, so a rule is added by adding its row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/ops.h"

namespace tilewright::arith {

/// For which operands a rule holds, which is also how it is proved.
enum class RuleDomain : uint8_t {
  Index,  // i64 read as mathematical integers: both sides only where nothing wraps
  Int,    // integers of every type, wrapping
  Bool,   // bool operands only
  Float,  // floats of every type, bit for bit (all NaN are one)
  Any,    // operands of any type
};

/// pattern -> replacement if condition. Names: x y z w are any operands of one type, p q r are bool
/// operands, c1 … c4 are constants. A condition on constants is computed, any other is proved from
/// the facts; empty means always. Both sides of `guard` are evaluated as the pattern says.
struct RuleText {
  RuleDomain domain;
  const char* pattern;
  const char* replacement;
  const char* condition = "";
};

std::span<const RuleText> rule_texts();

/// A node of a parsed pattern; children are positions in `Pattern::nodes`.
struct PatternNode {
  enum class Kind : uint8_t { Operand, Constant, Literal, Unary, Binary, Select, Guard };
  Kind kind{};
  uint8_t slot = 0;      // Operand, Constant: which one
  bool is_bool = false;  // Operand: of bool type; Literal: true or false
  ir::UnaryOp unary{};
  ir::BinaryOp binary{};
  double literal = 0;
  int child[3] = {-1, -1, -1};
};

struct Pattern {
  std::vector<PatternNode> nodes;
  int root = -1;  // -1: empty
  const PatternNode& at(int i) const { return nodes[static_cast<size_t>(i)]; }
};

constexpr int kOperandSlots = 7;  // x y z w p q r
constexpr int kConstantSlots = 4;

/// Reads a pattern, replacement or condition. A mistake in it is ours: throws InternalError.
Pattern parse_pattern(const std::string& text);

struct Rule {
  const RuleText* text = nullptr;
  Pattern pattern, replacement, condition;
  bool condition_on_constants = true;
};
Rule parse_rule(const RuleText& text);

/// The rules whose pattern has this node at its root, in the table's order.
std::span<const Rule> rules_for(ir::BinaryOp op);
std::span<const Rule> rules_for(ir::UnaryOp op);
std::span<const Rule> rules_for_select();
std::span<const Rule> rules_for_guard();

}  // namespace tilewright::arith
