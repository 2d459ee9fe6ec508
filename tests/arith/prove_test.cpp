// SPDX-License-Identifier: Apache-2.0
#include "arith/known.h"

namespace tilewright::arith {
namespace {

TEST(Prove, SplitLoopWithTail) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  EXPECT_TRUE(k.proves("io*16 < n"));
  EXPECT_TRUE(k.proves("io*16 + ii < n + 15"));
  EXPECT_FALSE(k.proves("io*16 + ii < n"));
  k.assume("io*16 + ii < n");
  EXPECT_TRUE(k.proves("io*16 + ii < n"));
  EXPECT_TRUE(k.proves("io*16 + ii + 1 <= n"));
  EXPECT_TRUE(k.proves("(io*16 + ii)*2 < n*2"));
}

TEST(Prove, SplitLoopWithoutTail) {
  Known k;
  k.symbol("n", 16, 4096, 16).loop("io", "0", "n/16").loop("ii", "0", "16");
  EXPECT_TRUE(k.proves("io*16 + ii < n"));
  Known c;
  c.symbol("n", 16, 4096, 16).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  EXPECT_TRUE(c.proves("io*16 + ii < n"));
}

TEST(Prove, InteriorOfAPartitionedLoop) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  k.assume("io < n/16");
  EXPECT_TRUE(k.proves("io*16 + ii < n"));
  EXPECT_TRUE(k.proves("(n + 15)/16*16 >= n"));
  EXPECT_TRUE(k.proves("((n + 15)/16 - 1)*16 < n"));
}

TEST(Prove, NestedSplits) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 63)/64").loop("im", "0", "4").loop("ii", "0", "16");
  EXPECT_TRUE(k.proves("(io*4 + im)*16 + ii < n + 63"));
  EXPECT_FALSE(k.proves("(io*4 + im)*16 + ii < n + 62"));
  EXPECT_EQ(k.simple("((io*4 + im)*16 + ii)/64"), "io");
  EXPECT_EQ(k.simple("((io*4 + im)*16 + ii)/16%4"), "im");
  k.assume("(io*4 + im)*16 + ii < n");
  EXPECT_EQ(k.over("(io*4 + im)*16 + ii", {"im", "ii"}), "io * 64 … min(n - 1, io * 64 + 63)");
}

TEST(Prove, Convolution) {
  Known k;
  k.symbol("H", 3, 4096).loop("h", "0", "(H - 1)/2 + 1").loop("r", "0", "3");
  k.assume("1 <= h*2 + r").assume("h*2 + r - 1 < H");
  EXPECT_TRUE(k.proves("h*2 + r - 1 >= 0"));
  EXPECT_TRUE(k.proves("h*2 + r <= H"));
  EXPECT_FALSE(k.proves("h*2 + r < H"));
}

TEST(Prove, SymbolicProducts) {
  Known k;
  k.symbol("m", 1, 4096).symbol("n", 1, 4096).loop("i", "0", "m").loop("j", "0", "n");
  EXPECT_TRUE(k.proves("i*n + j < m*n"));
  EXPECT_TRUE(k.proves("0 <= i*n + j"));
  EXPECT_FALSE(k.proves("i*n + j < m*n - 1"));
  Known f;
  f.symbol("m", 1, 4096).symbol("n", 1, 4096).loop("f", "0", "m*n");
  EXPECT_TRUE(f.proves("f/n < m"));
  EXPECT_TRUE(f.proves("f%n < n"));
  EXPECT_TRUE(f.proves("f/n*n + f%n == f"));
}

TEST(Prove, Transitively) {
  Known k;
  for (const char* v : {"a", "b", "c", "d"}) k.symbol(v, -1000, 1000);
  k.assume("a < b").assume("b <= c").assume("c + 2 < d");
  EXPECT_TRUE(k.proves("a + 3 < d"));
  EXPECT_FALSE(k.proves("a + 4 < d"));
  EXPECT_TRUE(k.proves("a != d"));
  EXPECT_TRUE(k.proves("a*2 < b + c"));
}

TEST(Prove, MinMaxSelect) {
  Known k;
  k.symbol("n", 1, 4096).symbol("m", 1, 4096).loop("i", "0", "min(n, m)");
  EXPECT_TRUE(k.proves("i < n"));
  EXPECT_TRUE(k.proves("i < m"));
  EXPECT_TRUE(k.proves("i < max(n, m)"));
  EXPECT_TRUE(k.proves("min(n, m) <= (n + m)/2"));
  EXPECT_TRUE(k.proves("select(n < m, n, m) <= n"));
}

TEST(Prove, SizesOfBuffersBoundProducts) {
  // Two symbols up to 2^40: their product fits because a buffer has that many elements.
  const ir::LoopFunc f = ir::parse_function(
      "loops f(A: in f32[m, n], B: out f32[n]) where m in 1..1099511627776, n in 1..1099511627776 "
      "{ for i in 0..m { for j in 0..n { B[j] = A[i, j] } } }");
  Known k;
  k.context = Context(f);
  for (const ir::Symbol& s : f.symbols) k.environment.vars.push_back(s.var);
  k.loop("i", "0", "m").loop("j", "0", "n");
  EXPECT_EQ(k.simple("(i*n + j)/n"), "i");
  EXPECT_EQ(k.simple("(i*n + j)%n"), "j");
  EXPECT_TRUE(k.proves("i*n + j < m*n"));
  EXPECT_FALSE(k.proves("i*m + j < m*n"));
}

TEST(Prove, DefinedVariables) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  k.let("i", "io*16 + ii").let("q", "i/16");
  EXPECT_TRUE(k.proves("i < n + 15"));
  EXPECT_TRUE(k.proves("q == io"));
  EXPECT_EQ(k.simple("i%16"), "ii");
  EXPECT_EQ(k.simple("i + 0"), "i");
  EXPECT_EQ(k.simple("i*2 + 1"), "i * 2 + 1");
}

TEST(Prove, Divisibility) {
  Known k;
  k.symbol("n", 1, 4096).loop("i", "0", "n");
  EXPECT_FALSE(k.proves("n % 8 == 0"));
  k.assume("n % 8 == 0");
  EXPECT_TRUE(k.proves("n % 4 == 0"));
  EXPECT_EQ(k.divisor("n*2 + 4"), 4);
  EXPECT_TRUE(k.proves("n >= 8"));
  EXPECT_TRUE(k.proves("i*2 != n + 1"));
  EXPECT_TRUE(k.proves("(n + 7)/8*8 == n"));
}

TEST(Prove, Conditions) {
  Known k;
  k.symbol("n", 1, 4096).loop("i", "0", "n").free("p", ir::kBool).free("x", ir::kF32);
  EXPECT_TRUE(k.proves("i < 5 || i >= 5"));
  EXPECT_TRUE(k.proves("i < n && 0 <= i"));
  EXPECT_TRUE(k.proves("!(i >= n)"));
  EXPECT_FALSE(k.proves("p"));
  k.assume("p").assume("!(x < 1.0)").assume("i < 5 && n < 100");
  EXPECT_TRUE(k.proves("p"));
  EXPECT_TRUE(k.proves("!(x < 1.0)"));
  EXPECT_FALSE(k.proves("x >= 1.0"));  // x may be NaN
  EXPECT_TRUE(k.proves("i*20 < 100"));
  EXPECT_TRUE(k.proves("p || i == 77"));
}

TEST(Prove, Bounds) {
  Known k;
  k.symbol("n", 1, 4096).loop("i", "0", "n").loop("j", "i", "4");
  k.buffer("B", ir::Elem::I8, {8});
  EXPECT_EQ(k.bounds("n - i"), (Interval{1, 4096}));
  EXPECT_EQ(k.bounds("j - i"), (Interval{0, 3}));
  EXPECT_EQ(k.bounds("i64(B[0]) * 2 + 1"), (Interval{-255, 255}));
  EXPECT_EQ(k.bounds("i ^ 7").hi, 4095);
  EXPECT_EQ(k.bounds("min(i, 10) - 3"), (Interval{-3, 7}));
  EXPECT_EQ(k.bounds("ramp(j - i, 2, 4)"), (Interval{0, 9}));
}

TEST(Prove, EliminatedVariablesRoundToIntegers) {
  Known k;
  k.symbol("n", 0, 4096).symbol("i", 0, 8192);
  k.assume("i*2 >= n").assume("i*3 <= n + 7");
  EXPECT_EQ(k.over("i", {"i"}), "(n + 1) / 2 … (n + 1) / 3 + 2");
}

TEST(Prove, EliminatedVariables) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16").loop("r", "0", "3");
  EXPECT_EQ(k.over("io*16 + ii", {"ii"}), "io * 16 … io * 16 + 15");
  EXPECT_EQ(k.over("io*16 + ii - r", {"ii", "r"}), "io * 16 - 2 … io * 16 + 15");
  EXPECT_EQ(k.over("io*16", {"io"}), "0 … (n + 15) / 16 * 16 - 16");
  EXPECT_EQ(k.over("(io*16 + ii)/4", {"ii"}), "io * 4 … io * 4 + 3");
  EXPECT_EQ(k.over("n*ii", {"ii"}), "0 … n * 15");
  k.assume("io*16 + ii < n");
  EXPECT_EQ(k.over("io*16 + ii", {"ii"}), "io * 16 … min(n - 1, io * 16 + 15)");
}

}  // namespace
}  // namespace tilewright::arith
