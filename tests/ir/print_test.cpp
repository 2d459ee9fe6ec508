// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "ir/build.h"
#include "ir/literal.h"
#include "ir/parse.h"
#include "ir/scalar.h"

namespace tilewright::ir {
namespace {

const Var i("i"), j("j"), k("k");
const Var p("p", kBool), q("q", kBool), r("r", kBool);
const Var x("x", kF32);

Expr bin(BinaryOp op, const Expr& a, const Expr& b) { return make<Binary>({}, op, a, b); }
Expr neg(const Expr& a) { return make<Unary>({}, UnaryOp::Neg, a); }

TEST(PrintExpr, WritesParenthesesWhereTheyAreNeeded) {
  using enum BinaryOp;
  EXPECT_EQ(print(bin(Mul, bin(Add, i, j), k)), "(i + j) * k");
  EXPECT_EQ(print(bin(Add, bin(Mul, i, j), k)), "i * j + k");
  EXPECT_EQ(print(bin(Sub, bin(Sub, i, j), k)), "i - j - k");
  EXPECT_EQ(print(bin(Sub, i, bin(Sub, j, k))), "i - (j - k)");
  EXPECT_EQ(print(bin(BitAnd, i, bin(Shl, j, k))), "i & j << k");
  EXPECT_EQ(print(bin(And, bin(Or, p, q), r)), "(p || q) && r");
  EXPECT_EQ(print(bin(Eq, bin(Eq, i, j), p)), "(i == j) == p");
  EXPECT_EQ(print(bin(Min, bin(Add, i, j), k)), "min(i + j, k)");
  EXPECT_EQ(print(logical_not(bin(Lt, i, j))), "!(i < j)");
}

TEST(PrintExpr, PutsAConstantOnTheRightOfAComparison) {
  EXPECT_EQ(print(bin(BinaryOp::Le, 3, i)), "i >= 3");
  EXPECT_EQ(print(bin(BinaryOp::Lt, 3, i)), "i > 3");
  EXPECT_EQ(print(bin(BinaryOp::Lt, i, 3)), "i < 3");
  EXPECT_EQ(print(bin(BinaryOp::Lt, 3, 4)), "3 < 4");
}

TEST(PrintExpr, TellsAConstantFromANegation) {
  EXPECT_EQ(print(Expr(-1)), "-1");
  EXPECT_EQ(print(neg(1)), "-(1)");
  EXPECT_EQ(print(neg(neg(i))), "-(-i)");
  EXPECT_EQ(print(bin(BinaryOp::Sub, i, -1)), "i - -1");
}

TEST(PrintExpr, GivesConstantsTheirTypeUnlessItIsTheDefault) {
  EXPECT_EQ(print(int_imm(Elem::I64, 5)), "5");
  EXPECT_EQ(print(int_imm(Elem::I8, -128)), "-128:i8");
  EXPECT_EQ(print(int_imm(Elem::U64, -1)), "18446744073709551615:u64");
  EXPECT_EQ(print(bool_imm(true)), "true");
  EXPECT_EQ(print(float_imm(Elem::F32, 100)), "100.0");
  EXPECT_EQ(print(float_imm(Elem::F32, 1e20)), "1e+20");
  EXPECT_EQ(print(float_imm(Elem::F64, 0.1)), "0.1:f64");
  EXPECT_EQ(print(float_imm(Elem::F16, 0.1)), "0.1:f16");
  EXPECT_EQ(print(float_imm(Elem::F32, -INFINITY)), "-inf");
  EXPECT_EQ(print(float_imm(Elem::BF16, NAN)), "nan:bf16");
  EXPECT_EQ(print(float_imm(Elem::F32, -0.0)), "-0.0");
}

TEST(PrintExpr, WritesCallsCastsAndLanes) {
  const Expr v = make<Ramp>({}, i, 2, 8);
  EXPECT_EQ(print(v), "ramp(i, 2, 8)");
  EXPECT_EQ(print(cast(Elem::F32, v)), "f32(ramp(i, 2, 8))");
  EXPECT_EQ(print(make<Reinterpret>({}, Elem::I32, x)), "bits:i32(x)");
  EXPECT_EQ(print(make<VectorReduce>({}, BinaryOp::Add, v)), "reduce_add(ramp(i, 2, 8))");
  EXPECT_EQ(print(make<VectorReduce>({}, BinaryOp::Max, v)), "reduce_max(ramp(i, 2, 8))");
  EXPECT_EQ(print(broadcast(x, 4)), "broadcast(x, 4)");
  EXPECT_EQ(print(call(MathFn::Fma, {x, x, x})), "fma(x, x, x)");
  EXPECT_EQ(print(guard(p, x, select(q, x, x))), "guard(p, x, select(q, x, x))");
}

TEST(PrintExpr, NamesAnotherBlockAndTheMask) {
  const Buffer a = make_buffer("a", Elem::F32, {Expr(8)});
  const std::vector<Expr> at = {i};
  EXPECT_EQ(print(make<Load>({}, a, at, p, j)), "a@j[i] mask (p)");
  EXPECT_EQ(print(make<Load>({}, a, at, Expr(), j + 1)), "a@(j + 1)[i]");
  EXPECT_EQ(print(make<Load>({}, make_buffer("n", Elem::F32, {}), std::vector<Expr>{})), "n[]");
}

TEST(PrintExpr, GivesTwoThingsOfOneNameTwoNames) {
  EXPECT_EQ(print(i + Var("i") + Var("i")), "i + i_1 + i_2");
}

TEST(PrintExpr, MakesEveryNameReadable) {
  EXPECT_EQ(print(Var("for") + Var("7.out")), "for_ + _7_out");
  EXPECT_EQ(print(Var("") + Var("i8") + Var("mask")), "_ + i8 + mask");
}

TEST(PrintStmt, KeepsBoundNamesApartFromFreeOnes) {
  const Buffer a = make_buffer("a", Elem::I64, {Expr(8)});
  const Var inner("i");
  const auto store = [&](const Expr& at, const Expr& v) {
    return make_stmt<Store>({}, a, std::vector<Expr>{at}, v);
  };
  // The free i is met only behind the loop; the loop's variable makes room for it all the same.
  EXPECT_EQ(print(seq({make_stmt<For>({}, inner, 0, 4, store(inner, 1)), store(i, 2)})),
            "for i_1 in 0..4 {\n"
            "  a[i_1] = 1\n"
            "}\n"
            "a[i] = 2\n");
}

TEST(PrintStmt, UsesANameAgainInADisjointScope) {
  const Stmt twice = parse_stmt("for i in 0..2 { } for i in 2..4 { }");
  EXPECT_EQ(print(twice), "for i in 0..2 {\n}\nfor i in 2..4 {\n}\n");
}

TEST(PrintStmt, ClosesAScopeThatEndsEarly) {
  const std::string text =
      "{\n"
      "  alloc t: f32[] register\n"
      "  t[] = 1.0\n"
      "}\n"
      "alloc u: f32[] register\n"
      "u[] = 2.0\n";
  EXPECT_EQ(print(parse_stmt(text)), text);
}

TEST(PrintStmt, WritesRangesTheShortWay) {
  EXPECT_EQ(print(parse_stmt("for i in 0 +: 4 { for j in i +: 7 { for k in i..j { } } }")),
            "for i in 0..4 {\n"
            "  for j in i +: 7 {\n"
            "    for k in i..j {\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(PrintFunction, BreaksLongHeadersIntoLines) {
  const std::string text =
      "loops matmul(A: in f32[m, 1024] align 64, B: in f32[1024, n] align 64, C: out f32[m, n])\n"
      "    where m in 1..4096 div 16 likely [64, 128], n in 0..1024\n"
      "    stage scheduled {\n"
      "  for y in 0..m {\n"
      "    for x in 0..n {\n"
      "      for z in 0..1024 {\n"
      "        block C(row: spatial m = y, col: spatial n = x, term: reduce 1024 = z)\n"
      "            where y < 10 && x >= 3\n"
      "            reads A[row, term], B[term, col]\n"
      "            writes C[row, col] {\n"
      "          init {\n"
      "            C[row, col] = 0.0\n"
      "          }\n"
      "          C[row, col] sum= A[row, term] * B[term, col]\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(print(parse_function(text)), text);
}

TEST(PrintUnit, BringsTheItemsThatAFunctionUses) {
  const std::string text =
      "reducer argmax(i: i64, x: f32 | j: i64, y: f32)\n"
      "    = (select(x < y, j, i), max(x, y))\n"
      "    identity (0, -inf)\n"
      "    rescale (at: i64, top: f32 | from: f32, to: f32) = (at, top * exp(from - to))\n"
      "\n"
      "instr clear(a: out f32[4] register) emit \"zero\" {\n"
      "  compute {\n"
      "    for i in 0..4 {\n"
      "      a[i] = 0.0\n"
      "    }\n"
      "  }\n"
      "}\n"
      "\n"
      "loops top(v: in f32[8], at: out i64[], best: out f32[]) {\n"
      "  alloc t: f32[4] register\n"
      "  call clear(t[0..4])\n"
      "  for i in 0..8 {\n"
      "    at[], best[] argmax= i, v[i]\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(print(Unit{{}, {}, {parse_function(text)}}), text);
}

TEST(PrintStmt, StridesOfACall) {
  const std::string text =
      "instr clear(a: out f32[4, 2], n: inout i32[]) {\n"
      "  compute {\n"
      "    a[0, 0] = 0.0\n"
      "  }\n"
      "}\n"
      "\n"
      "loops f(t: out f32[64], strides: inout i32[], s: in f32[]) stage final {\n"
      "  for i in 0..8 {\n"
      "    call clear(t[i +: 26], strides[]) strides ([i + 8, 1], [])\n"
      "    strides[] = 1:i32\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(print(parse(text)), text);
}

TEST(PrintFloat, ReadsBackForEveryPatternOfSmallTypes) {
  for (const Elem e : {Elem::F8E4M3, Elem::F8E4M3FNUZ, Elem::F8E5M2, Elem::F8E5M2FNUZ, Elem::F16,
                       Elem::BF16, Elem::F4E2M1, Elem::F8E8M0}) {
    for (uint64_t pattern = 0; pattern < uint64_t{1} << bits(e); ++pattern) {
      const double v = float_from_bits(e, pattern);
      if (!std::isfinite(v)) continue;
      const std::string text = print_float(e, std::fabs(v));
      ASSERT_EQ(parse_float(e, text), std::fabs(v)) << name(e) << " " << text;
    }
  }
}

TEST(PrintFloat, ReadsBackAtTheEdgesOfF32AndF64) {
  for (const double v : {1e-45, 1.17549435e-38, 3.4028234663852886e38, 16777216.0, 0.1})
    EXPECT_EQ(parse_float(Elem::F32, print_float(Elem::F32, static_cast<float>(v))),
              static_cast<float>(v));
  for (const double v : {5e-324, 2.2250738585072014e-308, std::numeric_limits<double>::max()})
    EXPECT_EQ(parse_float(Elem::F64, print_float(Elem::F64, v)), v);
}

}  // namespace
}  // namespace tilewright::ir
