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

}  // namespace
}  // namespace tilewright::arith
