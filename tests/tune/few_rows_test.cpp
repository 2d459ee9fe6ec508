// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/few_rows.h"

#include <gtest/gtest.h>

#include "lower/to_blocks.h"
#include "te/parse.h"

namespace tilewright::tune {
namespace {

/// The names of the symbols that count the rows of the product X[…, k] * W[k, j].
std::string rows_of(const std::string& symbols, const std::string& shape, const std::string& axes,
                    const std::string& element, int64_t terms = 64) {
  const std::string k = std::to_string(terms);
  const ir::LoopFunc func = lower::to_blocks(te::parse_program(
      "te p(X: f32[" + shape + k + "], W: f32[" + k + ", 96])" + symbols + " {\n  Y[" + axes +
      "j in 96] = sum(k in " + k + ") X[" + element + "k] * W[k, j]\n  return Y\n}"));
  std::string out;
  for (const ir::Var& v : row_symbols(func)) out += v.name() + " ";
  return out;
}

TEST(FewRows, OneSymbolCountsTheRows) {
  EXPECT_EQ(rows_of(" where n in 0..1024", "n, ", "i in n, ", "i, "), "n ");
}

TEST(FewRows, DimensionsOfOneDoNotCount) {
  EXPECT_EQ(rows_of(" where n in 0..1024", "1, n, ", "b in 1, i in n, ", "b, i, "), "n ");
}

TEST(FewRows, KnownRowsHaveNoSymbol) { EXPECT_EQ(rows_of("", "8, ", "i in 8, ", "i, "), ""); }

TEST(FewRows, SeveralSymbolsMeanMany) {
  EXPECT_EQ(rows_of(" where h in 0..1024, w in 0..1024", "h, w, ", "i in h, l in w, ", "i, l, "),
            "");
}

TEST(FewRows, LittleToMultiplyIsNotWorthIt) {
  EXPECT_EQ(rows_of(" where n in 0..1024", "n, ", "i in n, ", "i, ", 4), "");
}

}  // namespace
}  // namespace tilewright::tune
