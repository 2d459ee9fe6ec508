// SPDX-License-Identifier: Apache-2.0
#include "arith/rules.h"

namespace tilewright::arith {
namespace {

// Sums, products and what the affine form decides are not here: simplify.cpp brings them to one
// form first. Rules see operands that are already simple, constants to the right of commutative
// operators.
constexpr RuleText kRules[] = {
    // Nested divisions and remainders.
    {RuleDomain::Index, "x / c1 / c2", "x / (c1 * c2)", "c1 > 0 && c2 > 0"},
    {RuleDomain::Index, "(x / c1 + c2) / c3", "(x + c1 * c2) / (c1 * c3)", "c1 > 0 && c3 > 0"},
    {RuleDomain::Index, "(x / c1 - c2) / c3", "(x - c1 * c2) / (c1 * c3)", "c1 > 0 && c3 > 0"},
    {RuleDomain::Index, "x % c1 % c2", "x % c2", "c1 > 0 && c2 > 0 && c1 % c2 == 0"},
    {RuleDomain::Index, "x % c1 / c2", "x / c2 % (c1 / c2)", "c1 > 0 && c2 > 0 && c1 % c2 == 0"},
    {RuleDomain::Index, "(x % c1 + y) % c2", "(x + y) % c2", "c1 > 0 && c2 > 0 && c1 % c2 == 0"},
    {RuleDomain::Index, "(x % c1 * c3 + y) % c2", "(x * c3 + y) % c2",
     "c1 > 0 && c2 > 0 && c1 * c3 % c2 == 0"},
    {RuleDomain::Index, "(y - x % c1) % c2", "(y - x) % c2", "c1 > 0 && c2 > 0 && c1 % c2 == 0"},
    {RuleDomain::Index, "x / c1", "-x / -c1", "c1 < -1"},
    {RuleDomain::Int, "x / x", "1", "x != 0"},
    {RuleDomain::Int, "x % x", "0"},
    {RuleDomain::Int, "0 / x", "0"},
    {RuleDomain::Int, "0 % x", "0"},
    {RuleDomain::Int, "x / 0", "0"},
    {RuleDomain::Int, "x % 0", "0"},
    {RuleDomain::Int, "x / 1", "x"},
    {RuleDomain::Int, "x % 1", "0"},
    {RuleDomain::Int, "x % y % y", "x % y"},

    // Sums and products of the types that the affine form does not serve.
    {RuleDomain::Int, "x + 0", "x"},
    {RuleDomain::Int, "x - 0", "x"},
    {RuleDomain::Int, "0 - x", "-x"},
    {RuleDomain::Int, "x - x", "0"},
    {RuleDomain::Int, "x + -y", "x - y"},
    {RuleDomain::Int, "x - -y", "x + y"},
    {RuleDomain::Int, "x + y - y", "x"},
    {RuleDomain::Int, "x - y + y", "x"},
    {RuleDomain::Int, "x * 0", "0"},
    {RuleDomain::Int, "x * 1", "x"},
    {RuleDomain::Int, "x + c1 + c2", "x + (c1 + c2)"},
    {RuleDomain::Int, "x - c1 + c2", "x + (c2 - c1)"},
    {RuleDomain::Int, "x - c1 - c2", "x - (c1 + c2)"},
    {RuleDomain::Int, "x + c1 - c2", "x + (c1 - c2)"},
    {RuleDomain::Int, "x * c1 * c2", "x * (c1 * c2)"},
    {RuleDomain::Int, "min(x, y) + max(x, y)", "x + y"},
    {RuleDomain::Int, "-(-x)", "x"},
    {RuleDomain::Int, "-(x - y)", "y - x"},
    {RuleDomain::Int, "abs(abs(x))", "abs(x)"},
    {RuleDomain::Int, "abs(x)", "x", "0 <= x"},

    // Bits.
    {RuleDomain::Int, "x & x", "x"},
    {RuleDomain::Int, "x & 0", "0"},
    {RuleDomain::Int, "x | x", "x"},
    {RuleDomain::Int, "x | 0", "x"},
    {RuleDomain::Int, "x ^ x", "0"},
    {RuleDomain::Int, "x ^ 0", "x"},
    {RuleDomain::Int, "x ^ y ^ y", "x"},
    {RuleDomain::Int, "x & c1 & c2", "x & (c1 & c2)"},
    {RuleDomain::Int, "x | c1 | c2", "x | (c1 | c2)"},
    {RuleDomain::Int, "x ^ c1 ^ c2", "x ^ (c1 ^ c2)"},
    {RuleDomain::Int, "~(~x)", "x"},
    {RuleDomain::Int, "x << 0", "x"},
    {RuleDomain::Int, "x >> 0", "x"},
    {RuleDomain::Int, "0 << x", "0"},
    {RuleDomain::Int, "0 >> x", "0"},

    // Minimum and maximum.
    {RuleDomain::Int, "min(x, x)", "x"},
    {RuleDomain::Int, "max(x, x)", "x"},
    {RuleDomain::Int, "min(min(x, y), x)", "min(x, y)"},
    {RuleDomain::Int, "max(max(x, y), x)", "max(x, y)"},
    {RuleDomain::Int, "min(max(x, y), x)", "x"},
    {RuleDomain::Int, "max(min(x, y), x)", "x"},
    {RuleDomain::Int, "min(min(x, c1), c2)", "min(x, min(c1, c2))"},
    {RuleDomain::Int, "max(max(x, c1), c2)", "max(x, max(c1, c2))"},
    {RuleDomain::Int, "min(max(x, c1), c2)", "c2", "c2 <= c1"},
    {RuleDomain::Int, "max(min(x, c1), c2)", "c2", "c1 <= c2"},
    {RuleDomain::Int, "min(min(x, y), max(x, z))", "min(x, y)"},
    {RuleDomain::Int, "max(max(x, y), min(x, z))", "max(x, y)"},
    {RuleDomain::Int, "min(max(x, y), max(x, z))", "max(x, min(y, z))"},
    {RuleDomain::Int, "max(min(x, y), min(x, z))", "min(x, max(y, z))"},
    {RuleDomain::Int, "max(max(x, c1), y)", "max(max(x, y), c1)"},
    {RuleDomain::Int, "min(min(x, c1), y)", "min(min(x, y), c1)"},

    // Comparisons.
    {RuleDomain::Int, "x < x", "false"},
    {RuleDomain::Int, "x <= x", "true"},
    {RuleDomain::Int, "x == x", "true"},
    {RuleDomain::Int, "x != x", "false"},
    {RuleDomain::Int, "min(x, y) <= x", "true"},
    {RuleDomain::Int, "x <= max(x, y)", "true"},
    {RuleDomain::Int, "x < min(x, y)", "false"},
    {RuleDomain::Int, "max(x, y) < x", "false"},
    {RuleDomain::Int, "min(x, y) < x", "y < x"},
    {RuleDomain::Int, "x < max(x, y)", "x < y"},
    {RuleDomain::Int, "x <= min(x, y)", "x <= y"},
    {RuleDomain::Int, "max(x, y) <= x", "y <= x"},
    {RuleDomain::Int, "x == min(x, y)", "x <= y"},
    {RuleDomain::Int, "x == max(x, y)", "y <= x"},
    {RuleDomain::Int, "min(x, c1) < c2", "x < c2", "c2 <= c1"},
    {RuleDomain::Int, "max(x, c1) < c2", "x < c2", "c1 < c2"},
    {RuleDomain::Int, "c2 <= min(x, c1)", "c2 <= x", "c2 <= c1"},
    {RuleDomain::Int, "c2 <= max(x, c1)", "c2 <= x", "c1 < c2"},
    {RuleDomain::Index, "x / c1 < y", "x < y * c1", "c1 > 0"},
    {RuleDomain::Index, "y <= x / c1", "y * c1 <= x", "c1 > 0"},
    {RuleDomain::Index, "x / c1 <= y", "x < y * c1 + c1", "c1 > 0"},
    {RuleDomain::Index, "y < x / c1", "y * c1 + c1 <= x", "c1 > 0"},
    {RuleDomain::Int, "!(x < y)", "y <= x"},
    {RuleDomain::Int, "!(x <= y)", "y < x"},
    {RuleDomain::Any, "!(x == y)", "x != y"},
    {RuleDomain::Any, "!(x != y)", "x == y"},

    // Conjunctions of comparisons.
    {RuleDomain::Int, "x < y && y < x", "false"},
    {RuleDomain::Int, "x < y && y <= x", "false"},
    {RuleDomain::Int, "x < y && x <= y", "x < y"},
    {RuleDomain::Int, "x <= y && y <= x", "x == y"},
    {RuleDomain::Int, "x < y || y <= x", "true"},
    {RuleDomain::Int, "x <= y || y <= x", "true"},
    {RuleDomain::Int, "x < y || x <= y", "x <= y"},
    {RuleDomain::Int, "x < c1 && x < c2", "x < min(c1, c2)"},
    {RuleDomain::Int, "x < c1 || x < c2", "x < max(c1, c2)"},
    {RuleDomain::Int, "c1 <= x && c2 <= x", "max(c1, c2) <= x"},
    {RuleDomain::Int, "c1 <= x || c2 <= x", "min(c1, c2) <= x"},
    {RuleDomain::Int, "c1 <= x && x < c2", "x == c1", "c1 + 1 == c2 && c1 < c2"},
    {RuleDomain::Int, "c1 <= x && x < c2", "false", "c2 <= c1"},
    {RuleDomain::Int, "x == c1 && x == c2", "false", "c1 != c2"},
    {RuleDomain::Int, "x != c1 || x != c2", "true", "c1 != c2"},
    {RuleDomain::Any, "x == y && x != y", "false"},
    {RuleDomain::Any, "x == y || x != y", "true"},

    // Logic.
    {RuleDomain::Bool, "p && p", "p"},
    {RuleDomain::Bool, "p || p", "p"},
    {RuleDomain::Bool, "p && true", "p"},
    {RuleDomain::Bool, "p && false", "false"},
    {RuleDomain::Bool, "p || true", "true"},
    {RuleDomain::Bool, "p || false", "p"},
    {RuleDomain::Bool, "!(!p)", "p"},
    {RuleDomain::Bool, "p && !p", "false"},
    {RuleDomain::Bool, "p || !p", "true"},
    {RuleDomain::Bool, "p && q && p", "p && q"},
    {RuleDomain::Bool, "p || q || p", "p || q"},
    {RuleDomain::Bool, "p && (p || q)", "p"},
    {RuleDomain::Bool, "p || p && q", "p"},
    {RuleDomain::Bool, "p && (!p || q)", "p && q"},
    {RuleDomain::Bool, "p || !p && q", "p || q"},
    {RuleDomain::Bool, "p == true", "p"},
    {RuleDomain::Bool, "p == false", "!p"},
    {RuleDomain::Bool, "p != true", "!p"},
    {RuleDomain::Bool, "p != false", "p"},
    {RuleDomain::Bool, "p == p", "true"},
    {RuleDomain::Bool, "p != p", "false"},
    {RuleDomain::Bool, "!p == !q", "p == q"},
    {RuleDomain::Bool, "p & q", "p && q"},
    {RuleDomain::Bool, "p | q", "p || q"},
    {RuleDomain::Bool, "p ^ q", "p != q"},

    // Choices.
    {RuleDomain::Any, "select(true, x, y)", "x"},
    {RuleDomain::Any, "select(false, x, y)", "y"},
    {RuleDomain::Any, "select(p, x, x)", "x"},
    {RuleDomain::Any, "select(!p, x, y)", "select(p, y, x)"},
    {RuleDomain::Any, "select(p, select(p, x, y), z)", "select(p, x, z)"},
    {RuleDomain::Any, "select(p, x, select(p, y, z))", "select(p, x, z)"},
    {RuleDomain::Any, "select(p, select(q, x, y), y)", "select(p && q, x, y)"},
    {RuleDomain::Any, "select(p, x, select(q, x, y))", "select(p || q, x, y)"},
    {RuleDomain::Bool, "select(p, true, q)", "p || q"},
    {RuleDomain::Bool, "select(p, q, false)", "p && q"},
    {RuleDomain::Bool, "select(p, false, q)", "!p && q"},
    {RuleDomain::Bool, "select(p, q, true)", "!p || q"},
    {RuleDomain::Int, "select(x == y, x, y)", "y"},
    {RuleDomain::Int, "select(x == y, y, x)", "x"},
    {RuleDomain::Int, "select(x < y, x, y)", "min(x, y)"},
    {RuleDomain::Int, "select(x < y, y, x)", "max(x, y)"},
    {RuleDomain::Int, "select(x <= y, x, y)", "min(x, y)"},
    {RuleDomain::Int, "select(x <= y, y, x)", "max(x, y)"},
    {RuleDomain::Any, "guard(true, x, y)", "x"},
    {RuleDomain::Any, "guard(false, x, y)", "y"},
    {RuleDomain::Any, "guard(p, x, x)", "x"},
    {RuleDomain::Any, "guard(!p, x, y)", "guard(p, y, x)"},
    {RuleDomain::Any, "guard(p, guard(p, x, y), z)", "guard(p, x, z)"},
    {RuleDomain::Any, "guard(p, x, guard(p, y, z))", "guard(p, x, z)"},

    // Floats: only what is exact for NaN, infinities and both zeros.
    {RuleDomain::Float, "x * 1", "x"},
    {RuleDomain::Float, "x / 1", "x"},
    {RuleDomain::Float, "x - 0", "x"},
    {RuleDomain::Float, "x * -1", "-x"},
    {RuleDomain::Float, "x / -1", "-x"},
    {RuleDomain::Float, "x + -y", "x - y"},
    {RuleDomain::Float, "x - -y", "x + y"},
    {RuleDomain::Float, "-x * -y", "x * y"},
    {RuleDomain::Float, "-x / -y", "x / y"},
    {RuleDomain::Float, "-(-x)", "x"},
    {RuleDomain::Float, "abs(abs(x))", "abs(x)"},
    {RuleDomain::Float, "min(x, x)", "x"},
    {RuleDomain::Float, "max(x, x)", "x"},
    {RuleDomain::Float, "min(min(x, y), y)", "min(x, y)"},
    {RuleDomain::Float, "max(max(x, y), y)", "max(x, y)"},
    {RuleDomain::Float, "x < x", "false"},
};

/// The rules in the order of the table, gathered by what stands at the root of the pattern.
struct Index {
  std::vector<Rule> binary[ir::kBinaryOpCount];
  std::vector<Rule> unary[ir::kUnaryOpCount];
  std::vector<Rule> select, guard;

  Index() {
    for (const RuleText& text : kRules) {
      Rule rule = parse_rule(text);
      const PatternNode root = rule.pattern.at(rule.pattern.root);
      switch (root.kind) {
        case PatternNode::Kind::Binary:
          binary[static_cast<int>(root.binary)].push_back(std::move(rule));
          break;
        case PatternNode::Kind::Unary:
          unary[static_cast<int>(root.unary)].push_back(std::move(rule));
          break;
        case PatternNode::Kind::Select: select.push_back(std::move(rule)); break;
        default: guard.push_back(std::move(rule));
      }
    }
  }
};

const Index& index() {
  static const Index index;
  return index;
}

}  // namespace

std::span<const RuleText> rule_texts() { return kRules; }
std::span<const Rule> rules_for(ir::BinaryOp op) { return index().binary[static_cast<int>(op)]; }
std::span<const Rule> rules_for(ir::UnaryOp op) { return index().unary[static_cast<int>(op)]; }
std::span<const Rule> rules_for_select() { return index().select; }
std::span<const Rule> rules_for_guard() { return index().guard; }

}  // namespace tilewright::arith
