// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace tilewright::graph {
namespace {

TEST(Builder, ADimensionThatDoublesWithoutEndStaysAShortFormula) {
  Net g;
  ValueId x = g.in("x", {g.symbol("n")});
  for (int i = 0; i < 1500; ++i) x = g("concat", {x, x});
  EXPECT_LT(print(g.type(x).tensor()->shape).size(), 40u);
  // In a run each of them is checked against what memory can hold.
  const auto limited = [](const SymbolInfo& s) { return s.symbol.max < int64_t{1} << 48; };
  EXPECT_TRUE(std::ranges::all_of(g.graph().symbols, limited));
}

}  // namespace
}  // namespace tilewright::graph
