// SPDX-License-Identifier: Apache-2.0
// Everything that is not an index: bools, floats, the other integers, choices, loads.
#include "arith/known.h"

namespace tilewright::arith {
namespace {

Known typed() {
  Known k;
  k.free("x", ir::kF32).free("y", ir::kF32).free("u", ir::kU8).free("v", ir::kU8);
  k.free("p", ir::kBool).free("q", ir::kBool).free("s", ir::kI32).free("w", ir::kI32);
  k.loop("i", "0", "8").symbol("n", 1, 100);
  k.buffer("A", ir::Elem::F32, {8}).buffer("B", ir::Elem::I8, {8}).buffer("C", ir::Elem::I64, {8});
  return k;
}

TEST(SimplifyTypes, FloatsOnlyExactly) {
  const Known k = typed();
  EXPECT_EQ(k.simple("x * 1.0"), "x");
  EXPECT_EQ(k.simple("1.0 * x"), "x");
  EXPECT_EQ(k.simple("x + 0.0"), "x + 0.0");
  EXPECT_EQ(k.simple("x - 0.0"), "x");
  EXPECT_EQ(k.simple("x - -0.0"), "x - -0.0");
  EXPECT_EQ(k.simple("x * 0.0"), "x * 0.0");
  EXPECT_EQ(k.simple("x - x"), "x - x");
  EXPECT_EQ(k.simple("-(-x)"), "x");
  EXPECT_EQ(k.simple("x == x"), "x == x");
  EXPECT_EQ(k.simple("!(x < y)"), "!(x < y)");
  EXPECT_EQ(k.simple("!(x == y)"), "x != y");
}

TEST(SimplifyTypes, FloatConstantsFoldOnlyWhenExact) {
  const Known k = typed();
  EXPECT_EQ(k.simple("1.0 / 6.0"), "1.0 / 6.0");
  EXPECT_EQ(k.simple("2.0 * 3.0"), "6.0");
  EXPECT_EQ(k.simple("x * (0.5 + 0.25)"), "x * 0.75");
  EXPECT_EQ(k.simple("16777216.0 + 1.0"), "16777216.0 + 1.0");
  EXPECT_EQ(k.simple("9007199254740992.0:f64 + 1.0:f64"), "9007199254740992.0:f64 + 1.0:f64");
  EXPECT_EQ(k.simple("f32(3)"), "3.0");
  EXPECT_EQ(k.simple("f32(16777217)"), "f32(16777217)");
  EXPECT_EQ(k.simple("i64(i32(300))"), "300");
  EXPECT_EQ(k.simple("u8(300)"), "44:u8");
}

TEST(SimplifyTypes, SmallIntegersWrap) {
  const Known k = typed();
  EXPECT_EQ(k.simple("u + 1:u8 - 1:u8"), "u");
  EXPECT_EQ(k.simple("u + 200:u8 + 100:u8"), "u + 44:u8");
  EXPECT_EQ(k.simple("u + 1:u8 < v + 1:u8"), "u + 1:u8 < v + 1:u8");
  EXPECT_EQ(k.simple("s * 2:i32 / 2:i32"), "s * 2:i32 / 2:i32");
  EXPECT_EQ(k.simple("u < u"), "false");
  EXPECT_EQ(k.simple("u <= 255:u8"), "true");
  EXPECT_EQ(k.simple("i64(u) + 3 < 300"), "true");
  EXPECT_EQ(k.simple("u ^ u"), "0:u8");
  EXPECT_EQ(k.simple("i64(i32(B[i])) >= -128"), "true");
}

TEST(SimplifyTypes, Logic) {
  const Known k = typed();
  EXPECT_EQ(k.simple("p && true"), "p");
  EXPECT_EQ(k.simple("p && !p"), "false");
  EXPECT_EQ(k.simple("!(!p)"), "p");
  EXPECT_EQ(k.simple("(p || q) && p"), "p");
  EXPECT_EQ(k.simple("i < 5 && i < 3"), "i < 3");
  EXPECT_EQ(k.simple("i < 5 || i < 3"), "i < 5");
  EXPECT_EQ(k.simple("i < n && i < n + 3"), "i < n");
  EXPECT_EQ(k.simple("i < n && n <= i"), "false");
  EXPECT_EQ(k.simple("3 <= i && i <= 3"), "i == 3");
}

TEST(SimplifyTypes, ChoicesUseTheirCondition) {
  const Known k = typed();
  EXPECT_EQ(k.simple("select(i < 4, i % 4, 9)"), "select(i < 4, i, 9)");
  EXPECT_EQ(k.simple("select(i < 4, x, x)"), "x");
  EXPECT_EQ(k.simple("select(i < 9, x, y)"), "x");
  EXPECT_EQ(k.simple("select(p, select(p, x, y), y)"), "select(p, x, y)");
  EXPECT_EQ(k.simple("select(!p, x, y)"), "select(p, y, x)");
  EXPECT_EQ(k.simple("guard(i < 4, A[i % 4], 0.0)"), "guard(i < 4, A[i], 0.0)");
  // The other side is evaluated too, where A[i] would be out of range.
  EXPECT_EQ(k.simple("select(i < 4, A[i % 4], 0.0)"), "select(i < 4, A[i % 4], 0.0)");
  EXPECT_EQ(k.simple("select(n < i, n, i)"), "min(i, n)");
}

TEST(SimplifyTypes, LoadsAndMasks) {
  const Known k = typed();
  EXPECT_EQ(k.simple("A[(i*4 + 1)/4]"), "A[i]");
  EXPECT_EQ(k.simple("A[i] mask (i < 9)"), "A[i]");
  EXPECT_EQ(k.simple("A[i] mask (i < 0)"), "0.0");
  EXPECT_EQ(k.simple("A[i % 4] mask (i < 4)"), "A[i] mask (i < 4)");
  EXPECT_EQ(k.simple("C[i] - C[i + 0]"), "0");
}

TEST(SimplifyTypes, UnchangedKeepsTheHandle) {
  const Known k = typed();
  for (const char* text : {"x + y", "i * 3 + n", "A[i] * x", "select(p, x, y)", "i < n", "u + v",
                           "max(i, n)", "i / 3", "n % 7", "exp(x)", "-x", "ramp(i, 1, 4)",
                           "broadcast(x, 4) * broadcast(y, 4) + broadcast(x, 4)"}) {
    const ir::Expr e = k.expr(text);
    const ir::Expr once = k.context.simplify(e);
    EXPECT_EQ(k.context.simplify(once), once) << text;
    if (std::string(text).find("broadcast") == std::string::npos) {
      EXPECT_EQ(once, e) << text;
    }
  }
}

}  // namespace
}  // namespace tilewright::arith
