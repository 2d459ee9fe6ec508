// SPDX-License-Identifier: Apache-2.0
#include "graph/symbol_index.h"

#include <gtest/gtest.h>

#include "graph/graph.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

SymbolInfo size_of(const Dim& formula) {
  return {.symbol = {.var = ir::Var("d"), .min = 0, .max = 100},
          .source = FromFormula{formula},
          .origin = {}};
}

SymbolInfo element(int32_t value) {
  return {.symbol = {.var = ir::Var("e"), .min = 0, .max = 100},
          .source = FromElement{value, 0},
          .origin = {}};
}

TEST(SymbolIndex, FindsWhatStandsInThePlaceOfSymbolsTakenBack) {
  const Dim n = ir::Var("n");
  SymbolIndex index;
  std::vector<SymbolInfo> symbols;
  for (int i = 0; i < 100; ++i) symbols.push_back(size_of(n + Dim(i)));
  symbols.push_back(element(1));
  ASSERT_TRUE(index.with_formula(symbols, n + Dim(60)));
  ASSERT_TRUE(index.with_element(symbols, 1, 0));
  symbols.resize(50);
  symbols.push_back(element(1));
  for (int i = 0; i < 100; ++i) symbols.push_back(size_of(n + Dim(1000 + i)));
  for (const SymbolInfo& s : symbols) EXPECT_EQ(index.with_var(symbols, *s.symbol.var.get()), &s);
  EXPECT_EQ(index.with_formula(symbols, n + Dim(1060)), &symbols[51 + 60]);
  EXPECT_EQ(index.with_formula(symbols, n + Dim(40)), &symbols[40]);
  EXPECT_FALSE(index.with_formula(symbols, n + Dim(60)));
  EXPECT_EQ(index.with_element(symbols, 1, 0), &symbols[50]);
  symbols.resize(10);
  EXPECT_FALSE(index.with_element(symbols, 1, 0));
  EXPECT_FALSE(index.with_formula(symbols, n + Dim(40)));
}

}  // namespace
}  // namespace tilewright::graph
