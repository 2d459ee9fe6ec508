// SPDX-License-Identifier: Apache-2.0
// The texts that tensor programs become; their numbers are checked in to_blocks_values_test.cpp.
#include "lower/to_blocks.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "te/te.h"

namespace tilewright::lower {
namespace {

using namespace te;
using enum ir::Elem;

std::string lowered(const Program& p) {
  const ir::LoopFunc f = to_blocks(p);
  ir::verify(f);
  EXPECT_EQ(f.stage, ir::Stage::Loops);
  return ir::print(f);
}

std::string lowered(std::string_view text) { return lowered(parse_program(text)); }

TEST(ToBlocks, OneBlockPerStageAndOneLoopPerAxis) {
  EXPECT_EQ(
      lowered("te f(A: f32[m, 8], B: f32[8, n]) where m in 1..64, n in 1..64 {\n"
              "  C[y in m, x in n] = sum(k in 8) A[y, k] * B[k, x]\n"
              "  D[y in m, x in n] = max(C[y, x], 0.0)\n"
              "  return D\n"
              "}\n"),
      "loops f(A: in f32[m, 8], B: in f32[8, n], D: out f32[m, n])"
      " where m in 1..64, n in 1..64 {\n"
      "  alloc C: f32[m, n]\n"
      "  for y in 0..m {\n"
      "    for x in 0..n {\n"
      "      for k in 0..8 {\n"
      "        block C(vy: spatial m = y, vx: spatial n = x, vk: reduce 8 = k)\n"
      "            reads A[vy, vk], B[vk, vx]\n"
      "            writes C[vy, vx] {\n"
      "          init {\n"
      "            C[vy, vx] = 0.0\n"
      "          }\n"
      "          C[vy, vx] sum= A[vy, vk] * B[vk, vx]\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "  for y in 0..m {\n"
      "    for x in 0..n {\n"
      "      block D(vy: spatial m = y, vx: spatial n = x) reads C[vy, vx] writes D[vy, vx] {\n"
      "        D[vy, vx] = max(C[vy, vx], 0.0)\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n");
}

TEST(ToBlocks, AScalarNeedsNoLoop) {
  EXPECT_EQ(lowered("te f(a: f32[], b: f32[]) {\n  c[] = a[] * b[]\n  return c\n}\n"),
            "loops f(a: in f32[], b: in f32[], c: out f32[]) {\n"
            "  block c() reads a[], b[] writes c[] {\n"
            "    c[] = a[] * b[]\n"
            "  }\n"
            "}\n");
}

TEST(ToBlocks, AGatheredIndexReadsTheWholeDimension) {
  EXPECT_EQ(lowered("te f(A: f32[100, 8], at: i32[5]) {\n"
                    "  B[i in 5, j in 8] = A[i64(at[i]), j / 2]\n"
                    "  return B\n"
                    "}\n"),
            "loops f(A: in f32[100, 8], at: in i32[5], B: out f32[5, 8]) {\n"
            "  for i in 0..5 {\n"
            "    for j in 0..8 {\n"
            "      block B(vi: spatial 5 = i, vj: spatial 8 = j)\n"
            "          reads A[0..100, vj / 2], at[vi]\n"
            "          writes B[vi, vj] {\n"
            "        B[vi, vj] = A[i64(at[vi]), vj / 2]\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(ToBlocks, TuplesAreUpdatedTogether) {
  const Tensor A = placeholder("A", I8, {4, 6});
  const Axis k = reduce_axis(6, "k");
  const auto both = compute({"at", "most"}, {4}, [&](Var i) { return argmax(A(i, k), k); });
  EXPECT_EQ(
      lowered(program("f", {A}, both)),
      "loops f(A: in i8[4, 6], at: out i64[4], most: out i8[4]) {\n"
      "  for i0 in 0..4 {\n"
      "    for k in 0..6 {\n"
      "      block at(vi0: spatial 4 = i0, vk: reduce 6 = k) reads A[vi0, vk] writes at[vi0], "
      "most[vi0] {\n"
      "        init {\n"
      "          at[vi0] = 9223372036854775807\n"
      "          most[vi0] = -128:i8\n"
      "        }\n"
      "        at[vi0], most[vi0] argmax= vk, A[vi0, vk]\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n");
}

TEST(ToBlocks, StagesOfAScanShareALoopOverTime) {
  EXPECT_EQ(lowered("te f(x: f32[T, n], U: f32[n, n], h0: f32[n]) where T in 1..9, n in 1..9 {\n"
                    "  h = scan(t in T, prev = h0) {\n"
                    "    r[i in n] = sum(j in n) U[i, j] * prev[j]\n"
                    "    next[i in n] = tanh(x[t, i] + r[i])\n"
                    "    yield next\n"
                    "  }\n"
                    "  return h\n"
                    "}\n"),
            "loops f(x: in f32[T, n], U: in f32[n, n], h0: in f32[n], h: out f32[T, n])\n"
            "    where T in 1..9, n in 1..9 {\n"
            "  alloc r: f32[T, n]\n"
            "  for t in 0..T {\n"
            "    for i in 0..n {\n"
            "      for j in 0..n {\n"
            "        block r(vt: ordered T = t, vi: spatial n = i, vj: reduce n = j)\n"
            "            reads U[vi, vj], h0[vj], h[vt - 1, vj]\n"
            "            writes r[vt, vi] {\n"
            "          init {\n"
            "            r[vt, vi] = 0.0\n"
            "          }\n"
            "          r[vt, vi] sum= U[vi, vj] * guard(vt == 0, h0[vj], h[vt - 1, vj])\n"
            "        }\n"
            "      }\n"
            "    }\n"
            "    for i in 0..n {\n"
            "      block h(vt: ordered T = t, vi: spatial n = i) reads x[vt, vi], r[vt, vi] writes "
            "h[vt, vi] {\n"
            "        h[vt, vi] = tanh(x[vt, vi] + r[vt, vi])\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(ToBlocks, ResultsOfAScanThatNoStageMakesAreCopied) {
  EXPECT_EQ(lowered("te f(a: f32[], b: f32[]) {\n"
                    "  x, y = scan(t in 3, p = a, q = b) {\n"
                    "    yield q, p\n"
                    "  }\n"
                    "  return x, y\n"
                    "}\n"),
            "loops f(a: in f32[], b: in f32[], x: out f32[3], y: out f32[3]) {\n"
            "  for t in 0..3 {\n"
            "    block x(vt: ordered 3 = t) reads b[], y[vt - 1] writes x[vt] {\n"
            "      x[vt] = guard(vt == 0, b[], y[vt - 1])\n"
            "    }\n"
            "    block y(vt: ordered 3 = t) reads a[], x[vt - 1] writes y[vt] {\n"
            "      y[vt] = guard(vt == 0, a[], x[vt - 1])\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(ToBlocks, AScanInsideAScanHoldsAllItsTimes) {
  EXPECT_EQ(lowered("te f(x: f32[5, 4], h0: f32[]) {\n"
                    "  h = scan(t in 5, p = h0) {\n"
                    "    inner = scan(s in 4, q = p) {\n"
                    "      n[] = q[] * x[t, s]\n"
                    "      yield n\n"
                    "    }\n"
                    "    last[] = inner[3]\n"
                    "    yield last\n"
                    "  }\n"
                    "  return h\n"
                    "}\n"),
            "loops f(x: in f32[5, 4], h0: in f32[], h: out f32[5]) {\n"
            "  alloc inner: f32[5, 4]\n"
            "  for t in 0..5 {\n"
            "    for s in 0..4 {\n"
            "      block inner(vt: ordered 5 = t, vs: ordered 4 = s)\n"
            "          reads h0[], h[vt - 1], inner[vt, vs - 1], x[vt, vs]\n"
            "          writes inner[vt, vs] {\n"
            "        inner[vt, vs] = guard(vs == 0, guard(vt == 0, h0[], h[vt - 1]), "
            "inner[vt, vs - 1]) * x[vt, vs]\n"
            "      }\n"
            "    }\n"
            "    block h(vt: ordered 5 = t) reads inner[vt, 3] writes h[vt] {\n"
            "      h[vt] = inner[vt, 3]\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(ToBlocks, TheIdentityOfAReductionThatMayBeEmptyIsStoredBeforehand) {
  constexpr std::string_view kInit =
      "    block s_init(vi: spatial 2 = i) writes s[vi] {\n"
      "      s[vi] = 0.0\n"
      "    }\n";
  const auto text = [](const std::string& extent, const std::string& where) {
    return lowered("te f(A: f32[2, " + extent + "])" + where + " {\n  s[i in 2] = sum(k in " +
                   extent + ") A[i, k]\n  return s\n}\n");
  };
  const std::string never = text("0", "");
  EXPECT_NE(never.find(kInit), std::string::npos) << never;
  EXPECT_EQ(never.find("sum="), std::string::npos) << never;

  const std::string maybe = text("n", " where n in 0..9");
  EXPECT_NE(maybe.find(kInit), std::string::npos) << maybe;
  EXPECT_NE(maybe.find("s[vi] sum= A[vi, vk]"), std::string::npos) << maybe;
  EXPECT_EQ(maybe.find("init {"), std::string::npos) << maybe;

  const std::string always = text("n + 1", " where n in 0..9");
  EXPECT_EQ(always.find("s_init"), std::string::npos) << always;
  EXPECT_NE(always.find("init {"), std::string::npos) << always;
}

TEST(ToBlocks, EqualNamesAreToldApart) {
  const Tensor x = placeholder("t", F32, {4});
  const std::string text = lowered(program("f", {x}, {exp(x) + exp(2 * x)}));
  EXPECT_NE(text.find("loops f(t: in f32[4], t_1: out f32[4])"), std::string::npos) << text;
  for (const char* block : {"block t_1(", "block t_2(", "block t_3(", "block t_4("})
    EXPECT_NE(text.find(block), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::lower
