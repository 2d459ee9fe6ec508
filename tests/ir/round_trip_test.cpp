// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <set>

#include "common/random_ir.h"
#include "ir/equal.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/rewrite.h"

namespace tilewright::ir {
namespace {

/// Notes the kinds of all nodes in a statement.
struct KindsSeen {
  std::set<ExprKind> exprs;
  std::set<StmtKind> stmts;

  void add(const Stmt& s) {
    walk(s, [&](const auto& node) {
      if constexpr (std::is_base_of_v<ExprNode, std::decay_t<decltype(node)>>)
        exprs.insert(node.kind);
      else
        stmts.insert(node.kind);
    });
  }
};

TEST(RoundTrip, EveryProgramReadsBackAsItself) {
  KindsSeen seen;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Unit unit = RandomIr(seed).unit();
    const std::string text = print(unit);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const Unit again = parse(text);
    ASSERT_TRUE(equal(unit, again));
    ASSERT_EQ(print(again), text);
    seen.add(unit.functions[0].body);
  }
  EXPECT_EQ(seen.exprs.size(), static_cast<size_t>(ExprKind::VectorReduce) + 1);
  EXPECT_EQ(seen.stmts.size(), static_cast<size_t>(StmtKind::Prefetch) + 1);
}

TEST(RoundTrip, AFunctionAloneBringsTheItemsItUses) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const LoopFunc f = RandomIr(seed).unit().functions[0];
    const std::string text = print(Unit{{}, {}, {f}});
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    ASSERT_TRUE(equal(parse_function(text), f));
  }
}

TEST(RoundTrip, AStatementReadsBackAloneWithTheSameHash) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Stmt s = RandomIr(seed).stmt(5);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(s));
    const Stmt again = parse_stmt(print(s));
    ASSERT_TRUE(equal(s, again));
    ASSERT_EQ(hash(s), hash(again));
  }
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string operator()(std::string text) {
    for (size_t n = 1 + below(3); n > 0 && !text.empty(); --n) change(text);
    return text;
  }

 private:
  size_t below(size_t n) { return random_() % n; }

  void change(std::string& text) {
    const size_t at = below(text.size());
    const auto [first, last] = token_at(text, at);
    const std::string token = text.substr(first, last - first);
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(below(256)); break;
      case 1: text.erase(at, 1); break;
      case 2: text.insert(at, 1, static_cast<char>(below(128))); break;
      case 3: text.erase(first, last - first); break;
      case 4: text.insert(first, token + " "); break;
      default: {
        const auto [other, end] = token_at(text, below(text.size()));
        text.replace(first, last - first, text.substr(other, end - other));
      }
    }
  }

  /// The word or the character there.
  static std::pair<size_t, size_t> token_at(const std::string& text, size_t at) {
    const auto is_word = [&](size_t i) {
      return i < text.size() && (isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    };
    if (!is_word(at)) return {at, at + 1};
    size_t first = at, last = at;
    while (first > 0 && is_word(first - 1)) --first;
    while (is_word(last)) ++last;
    return {first, last};
  }

  std::mt19937_64 random_;
};

TEST(RoundTrip, AChangedTextIsReadOrRefused) {
  int read = 0, refused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const std::string text = print(RandomIr(seed).unit());
    for (uint64_t i = 0; i < 50; ++i) {
      const std::string changed = Mutator(seed * 50 + i)(text);
      SCOPED_TRACE(changed);
      try {
        const Unit unit = parse(changed);
        ASSERT_TRUE(equal(parse(print(unit)), unit));
        ++read;
      } catch (const Error& e) {
        ASSERT_GT(e.diagnostic.at.line, 0);
        ASSERT_FALSE(e.diagnostic.help.empty());
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tilewright::ir
