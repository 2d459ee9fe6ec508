// SPDX-License-Identifier: Apache-2.0
#include "graph/narrow.h"

#include <gtest/gtest.h>

#include "graph/parse.h"
#include "graphs.h"

namespace tilewright::graph {
namespace {

const SymbolInfo& symbol_of(const Graph& graph, const std::string& name) {
  return *std::ranges::find_if(graph.symbols,
                               [&](const SymbolInfo& s) { return s.symbol.var.name() == name; });
}

std::string range_of(const Graph& graph, const std::string& name) {
  const ir::Symbol& s = symbol_of(graph, name).symbol;
  return str(s.min, "..", s.max);
}

/// What a check of `n` leaves of 0..100.
std::string left(const std::function<ir::Expr(const Dim&)>& condition) {
  Net g;
  const Dim n = g.symbol("n", 0, 100);
  g.in("x", {n});
  g.graph().checks.push_back({condition(n), "", {}});
  narrow(g.graph(), 0, 1);
  return range_of(g.graph(), "n");
}

TEST(Narrow, TakesTheEndsOfARange) {
  EXPECT_EQ(left([](const Dim& n) { return n < 50; }), "0..49");
  EXPECT_EQ(left([](const Dim& n) { return n <= 50; }), "0..50");
  EXPECT_EQ(left([](const Dim& n) { return Dim(3) < n; }), "4..100");
  EXPECT_EQ(left([](const Dim& n) { return ir::logical_and(Dim(3) <= n, n < 50); }), "3..49");
  EXPECT_EQ(left([](const Dim& n) { return n < 1000; }), "0..100");
}

TEST(Narrow, TriesTheLeastValues) {
  EXPECT_EQ(left([](const Dim& n) { return ir::eq((n + 3) / 4, (n + 1) / 2); }), "0..100");
  EXPECT_EQ(left([](const Dim& n) { return ir::ne(n * (n - 2) * (n - 1), 0); }), "3..100");
  // What holds for none of them is another's to refuse.
  EXPECT_EQ(left([](const Dim& n) { return ir::logical_or(n < 50, ir::eq(n, 60)); }), "0..100");
}

TEST(Narrow, AsksNothingOfConditionsOnTwoSymbols) {
  Net g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  g.in("x", {n, m});
  g.graph().checks.push_back({n < m, "", {}});
  EXPECT_FALSE(narrow(g.graph(), 0, 1));
}

/// A table of 512 rows, of which as many are read as there are words.
ValueId with_places(Net& g, const Dim& n) {
  const ValueId end = g.formulas({n});
  const ValueId table = g("slice", {g.weights({512, 4}), g.ints({0}), end, g.ints({0})});
  return g("add", {g.in("x", {n, Dim(4)}), table});
}

TEST(Narrow, LeavesOneNameForALengthThatATableBounds) {
  Net g;
  const Dim n = g.symbol("n");
  const ValueId sum = with_places(g, n);
  EXPECT_TRUE(same(g.tensor(sum).shape[0], n)) << print(g.type(sum));
  EXPECT_EQ(range_of(g.graph(), "n"), "0..512");
  EXPECT_EQ(given(symbol_of(g.graph(), "n")).second, kMaxSize);
  ASSERT_EQ(g.graph().checks.size(), 1u);  // the run still asks it
}

TEST(Narrow, ForgetsWhatIsRolledBack) {
  Net g;
  const Dim n = g.symbol("n");
  g.in("y", {n});
  const Builder::Checkpoint before = g.checkpoint();
  with_places(g, n);
  g.rollback(before);
  EXPECT_EQ(range_of(g.graph(), "n"), str("0..", kMaxSize));
}

TEST(Narrow, BelievesNoCheckOfABody) {
  Net g;
  const Dim n = g.symbol("n");
  const ValueId x = g.in("x", {n, Dim(4)});
  g.begin_body("b");
  const ValueId table =
      g("slice", {g.weights({512, 4}), g.ints({0}), g.formulas({n}), g.ints({0})});
  g("add", {x, table});
  g.end_body({});
  EXPECT_EQ(range_of(g.graph(), "n"), str("0..", kMaxSize));
}

/// A call that reads an element, and whose checks tell of it and of a size.
TEST(Narrow, KeepsTheSymbolsThatChecksMention) {
  Net g;
  const ValueId x = g.in("x", {g.symbol("n")}), axis = g.in("axis", {Dim(1)}, ir::Elem::I64);
  g.output(g("squeeze", {x, axis}));
  const Graph graph = g.take();
  EXPECT_FALSE(graph.checks.empty());
  verify(graph);
}

TEST(Narrow, IsKeptInTheText) {
  Net g;
  const Dim n = g.symbol("n");
  g.output(with_places(g, n));
  const std::string text = print(g.take());
  EXPECT_NE(text.find("symbol n in 0..512 of 0..2147483647 = dim(%x, 0)"), std::string::npos);
  EXPECT_EQ(print(parse(text, ops::find)), text);
}

TEST(Broadcast, WhatIsNotOneIsNotRepeated) {
  Net g;
  const Dim n = g.symbol("n"), even = g.symbol("m") * 2;
  const ValueId x = g.in("x", {n}), y = g.in("y", {g.symbol("m")});
  const ValueId twice = g("concat", {y, y});
  for (const auto& [a, b] : {std::pair(x, twice), std::pair(twice, x)})
    EXPECT_TRUE(same(g.tensor(g("add", {a, b})).shape[0], g.tensor(twice).shape[0]));
}

}  // namespace
}  // namespace tilewright::graph
