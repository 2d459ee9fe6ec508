// SPDX-License-Identifier: Apache-2.0
#include "arith/known.h"

namespace tilewright::arith {
namespace {

TEST(SimplifyIndex, SplitLoopsComeApart) {
  Known k;
  k.loop("io", "0", "8").loop("ii", "0", "4");
  EXPECT_EQ(k.simple("(io*4 + ii) / 4"), "io");
  EXPECT_EQ(k.simple("(io*4 + ii) % 4"), "ii");
  EXPECT_EQ(k.simple("(ii + 4*io) / 4"), "io");
  EXPECT_EQ(k.simple("(io*4 + ii) / 8"), "io / 2");
  EXPECT_EQ(k.simple("(io*4 + ii) % 8"), "io % 2 * 4 + ii");
  EXPECT_EQ(k.simple("(io*4 + ii) / 2"), "io * 2 + ii / 2");
}

TEST(SimplifyIndex, FlattenedIndices) {
  Known k;
  k.loop("y", "0", "14").loop("i", "0", "14").loop("j", "0", "32");
  EXPECT_EQ(k.simple("((y*14 + i)*32 + j) / 32"), "y * 14 + i");
  EXPECT_EQ(k.simple("((y*14 + i)*32 + j) % 32"), "j");
  EXPECT_EQ(k.simple("((y*14 + i)*32 + j) / 32 / 14"), "y");
  EXPECT_EQ(k.simple("((y*14 + i)*32 + j) / 32 % 14"), "i");
  EXPECT_EQ(k.simple("((y*14 + i)*32 + j) / 448"), "y");
}

TEST(SimplifyIndex, FusedLoopsComeTogether) {
  Known k;
  k.symbol("n", 1, 4096).symbol("m", 1, 4096).loop("f", "0", "m*n").loop("g", "0", "84");
  EXPECT_EQ(k.simple("(f/n)*n + f%n"), "f");
  EXPECT_EQ(k.simple("(g/7)*7 + g%7"), "g");
  EXPECT_EQ(k.simple("g/28*28 + g%28/7*7 + g%7"), "g");
  EXPECT_EQ(k.simple("(g/28*4 + g/7%4)*7 + g%7"), "g");
  EXPECT_EQ(k.simple("g - g/7*7"), "g % 7");
}

TEST(SimplifyIndex, SymbolicStrides) {
  Known k;
  k.symbol("m", 1, 4096).symbol("n", 1, 4096).loop("i", "0", "m").loop("j", "0", "n");
  EXPECT_EQ(k.simple("(i*n + j) / n"), "i");
  EXPECT_EQ(k.simple("(i*n + j) % n"), "j");
  EXPECT_EQ(k.simple("(i*n + j) / (m*n)"), "0");
  EXPECT_EQ(k.simple("(i + 1)*n + j - (i*n + j)"), "n");
}

TEST(SimplifyIndex, KnownDivisors) {
  Known k;
  k.symbol("m", 8, 4096, 8);
  EXPECT_EQ(k.simple("m/8*8"), "m");
  EXPECT_EQ(k.simple("m%8"), "0");
  EXPECT_EQ(k.simple("(m + 7)/8"), "m / 8");
  EXPECT_EQ(k.simple("(m + 7)/8*8"), "m");
  EXPECT_EQ(k.simple("(m + 3) % 4"), "3");
  EXPECT_EQ(k.divisor("m*3"), 24);
  EXPECT_EQ(k.divisor("m + 12"), 4);
  EXPECT_EQ(k.divisor("0"), 0);
}

TEST(SimplifyIndex, NestedDivisions) {
  Known k;
  k.free("x");
  EXPECT_EQ(k.simple("x/4/8"), "x / 32");
  EXPECT_EQ(k.simple("x%32%8"), "x % 8");
  EXPECT_EQ(k.simple("x%32/8"), "x / 8 % 4");
  EXPECT_EQ(k.simple("(x/4*4) % 4"), "0");
}

TEST(SimplifyIndex, SumsThatMayWrapKeepTheirDivisions) {
  Known k;
  k.free("x").free("y");
  EXPECT_EQ(k.simple("(x*4 + 1)/4"), "(x * 4 + 1) / 4");
  EXPECT_EQ(k.simple("x + 1 < y + 1"), "x + 1 < y + 1");
  EXPECT_EQ(k.simple("x + y - x"), "y");
  EXPECT_EQ(k.simple("x + 3 - x"), "3");
}

TEST(SimplifyIndex, MinAndMax) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  EXPECT_EQ(k.simple("min(ii, 15)"), "ii");
  EXPECT_EQ(k.simple("max(ii, 0)"), "ii");
  EXPECT_EQ(k.simple("min(io*16, n)"), "io * 16");
  EXPECT_EQ(k.simple("min(io*16 + 16, n) - io*16"), "min(n - io * 16, 16)");
  EXPECT_EQ(k.simple("max(io, io - 3)"), "io");
}

TEST(SimplifyIndex, Comparisons) {
  Known k;
  k.symbol("n", 1, 4096).loop("io", "0", "(n + 15)/16").loop("ii", "0", "16");
  EXPECT_EQ(k.simple("io*16 + ii - n < 0"), "io * 16 + ii < n");
  EXPECT_EQ(k.simple("n > ii + io*16"), "io * 16 + ii < n");
  EXPECT_EQ(k.simple("ii*4 + 1 < 17"), "ii < 4");
  EXPECT_EQ(k.simple("ii < 16"), "true");
  EXPECT_EQ(k.simple("ii >= 16"), "false");
  EXPECT_EQ(k.simple("io*16 < n"), "true");
  EXPECT_EQ(k.simple("io*2 == 7"), "false");
  EXPECT_EQ(k.simple("io + 1 == ii + 1"), "io == ii");
}

}  // namespace
}  // namespace tilewright::arith
