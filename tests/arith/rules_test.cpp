// SPDX-License-Identifier: Apache-2.0
// Every rule of the simplifier is proved, from the table itself.
#include "arith/rules.h"

#include <gtest/gtest.h>
#include <set>

#include "arith/rule_proof.h"
#include "support/diagnostic.h"

namespace tilewright::arith {
namespace {

std::string text_of(const RuleText& r) {
  return std::string(r.pattern) + " -> " + r.replacement + (*r.condition ? " if " : "") +
         r.condition;
}

TEST(Rules, EveryRuleIsProved) {
  for (const RuleText& rule : rule_texts()) {
    const Proof proof = prove_rule(rule);
    EXPECT_TRUE(proof.holds) << text_of(rule) << "\n  " << proof.how << ": "
                             << proof.counterexample;
  }
}

TEST(Rules, WrongRulesAreRefuted) {
  const RuleText wrong[] = {
      {RuleDomain::Index, "x / c1 / c2", "x / (c1 + c2)", "c1 > 0 && c2 > 0"},
      {RuleDomain::Index, "x / c1 / c2", "x / (c1 * c2)", "c1 > 0"},  // c2 may be negative
      {RuleDomain::Index, "(x * c1 + y) / c1", "x + y / c1"},         // c1 may be 0
      {RuleDomain::Index, "x / c1 < y", "x < y * c1", "c1 != 0"},
      {RuleDomain::Index, "x % c1 % c2", "x % c2", "c1 > 0 && c2 > 0"},
      {RuleDomain::Index, "(-x) / c1", "-(x / c1)", "c1 > 0"},  // floor, not truncation
      {RuleDomain::Int, "x / x", "1"},                          // 0 / 0
      {RuleDomain::Int, "x + 1 - 1 < x + 1", "true"},           // wraps
      {RuleDomain::Int, "x * 2 / 2", "x"},                      // wraps
      {RuleDomain::Int, "x << c1 >> c1", "x"},
      {RuleDomain::Int, "-x <= 0", "true", "0 <= x && x != 0"},  // unsigned
      {RuleDomain::Bool, "p && (q || p)", "q"},
      {RuleDomain::Any, "select(p, x, y)", "select(p, y, x)"},
      {RuleDomain::Any, "x == x", "true"},  // NaN
      {RuleDomain::Float, "x + 0", "x"},    // -0 + 0
      {RuleDomain::Float, "x - x", "0"},    // inf - inf
      {RuleDomain::Float, "x * 0", "0"},
      {RuleDomain::Float, "min(x, y)", "min(y, x)"},  // of 0 and -0
      {RuleDomain::Float, "!(x < y)", "y <= x"},      // NaN
      {RuleDomain::Float, "x * 2 / 2", "x"},          // overflow
  };
  for (const RuleText& rule : wrong) {
    const Proof proof = prove_rule(rule);
    EXPECT_FALSE(proof.holds) << text_of(rule);
    EXPECT_NE(proof.counterexample, "") << text_of(rule);
    EXPECT_EQ(proof.counterexample.find("no answer"), std::string::npos) << text_of(rule);
  }
}

TEST(Rules, ReplacementsUseOnlyNamesOfThePattern) {
  for (const RuleText& text : rule_texts()) {
    const Rule rule = parse_rule(text);
    std::set<std::pair<PatternNode::Kind, int>> bound;
    const auto is_name = [](const PatternNode& n) {
      return n.kind == PatternNode::Kind::Operand || n.kind == PatternNode::Kind::Constant;
    };
    for (const PatternNode& n : rule.pattern.nodes)
      if (is_name(n)) bound.insert({n.kind, n.slot});
    for (const Pattern* p : {&rule.replacement, &rule.condition})
      for (const PatternNode& n : p->nodes)
        EXPECT_TRUE(!is_name(n) || bound.count({n.kind, n.slot})) << text_of(text);
  }
}

TEST(Rules, NoRuleStandsTwice) {
  std::set<std::pair<int, std::string>> seen;
  for (const RuleText& rule : rule_texts())
    EXPECT_TRUE(
        seen.insert({static_cast<int>(rule.domain), rule.pattern + std::string(rule.condition)})
            .second)
        << text_of(rule);
}

TEST(Rules, MistakesInTheTextAreReported) {
  for (const char* text : {"x +", "x y", "foo(x)", "min(x)", "(x", "c5 + x", "x $ y"})
    EXPECT_THROW(parse_pattern(text), InternalError) << text;
  EXPECT_EQ(parse_pattern("").root, -1);
}

}  // namespace
}  // namespace tilewright::arith
