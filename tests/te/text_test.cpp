// SPDX-License-Identifier: Apache-2.0
// The text form of tensor programs: te/print.h and te/parse.h.
#include <gtest/gtest.h>

#include "common/errors.h"
#include "te/te.h"

namespace tilewright::te {
namespace {

using enum ir::Elem;

/// What is printed of `text`, after checking that it reads back.
std::string again(std::string_view text) {
  const std::string once = print(parse_program(text));
  EXPECT_EQ(print(parse_program(once)), once);
  return once;
}

TEST(TeText, PrintsWhatTheEmbeddingSays) {
  const Symbol m = symbol("m", 1, 4096), n = symbol("n", 0, 64, 8);
  const Tensor A = placeholder("A", F16, {m, 64}), B = placeholder("B", F16, {64, n});
  const Axis k = reduce_axis(64, "k");
  const Tensor C = compute("C", {m, n}, [&](Var y, Var x) {
    return max(sum(A(y, k) * B(k, x), k) * rational(1, 3), 0);
  });
  const std::string text = print(program("matmul", {A, B}, {C}, {m, n}));
  EXPECT_EQ(text,
            "te matmul(A: f16[m, 64], B: f16[64, n]) where m in 1..4096, n in 0..64 div 8 {\n"
            "  C_sum[i0 in m, i1 in n] = sum(k in 64) A[i0, k] * B[k, i1]\n"
            "  C[i0 in m, i1 in n] = max(C_sum[i0, i1] * (1.0:f16 / 3.0:f16), 0.0:f16)\n"
            "  return C\n"
            "}\n");
  EXPECT_EQ(again(text), text);
}

TEST(TeText, ReadsTheExamplesOfTheReadme) {
  EXPECT_EQ(again("te matmul(A: f32[m, k], B: f32[k, n]) where m in 1..4096 {\n"
                  "  C[y in m, x in n] = sum(kk in k) A[y, kk] * B[kk, x]  return C }"),
            "te matmul(A: f32[m, k], B: f32[k, n])\n"
            "    where m in 1..4096, k in 1..1099511627776, n in 1..1099511627776 {\n"
            "  C[y in m, x in n] = sum(kk in k) A[y, kk] * B[kk, x]\n"
            "  return C\n"
            "}\n");
  again(
      "te rnn(x: f32[T, n], U: f32[n, n], h0: f32[n]) {\n"
      "  h = scan(t in T, prev = h0) {\n"
      "    r[i in n] = sum(j in n) U[i, j] * prev[j]\n"
      "    next[i in n] = tanh(x[t, i] + r[i])\n"
      "    yield next\n"
      "  }\n"
      "  return h\n"
      "}\n");
  again(
      "reducer longest(i: i64, x: f32 | j: i64, y: f32)\n"
      "    = (select(y > x || y == x && j < i, j, i), max(x, y))\n"
      "    identity (9223372036854775807, -inf)\n"
      "te top(x: f32[m, n]) {\n"
      "  at, value[i in m] = longest(j in n) (j, x[i, j])\n"
      "  return at, value\n"
      "}\n");
}

TEST(TeText, PrintsReducersBeforeTheProgram) {
  const Tensor A = placeholder("A", F32, {4, 6});
  const Axis k = reduce_axis(6, "k");
  const auto both = compute({"at", "most"}, {4}, [&](Var i) { return argmax(A(i, k), k); });
  const auto least = compute("least", {4}, [&](Var i) { return argmax(-A(i, k), k)[0]; });
  const std::string text = print(program("f", {A}, {both[0], both[1], least}));
  EXPECT_EQ(text.find("reducer argmax(x0: i64, x1: f32 | y0: i64, y1: f32)\n"), 0u) << text;
  EXPECT_EQ(text.find("reducer", 1), std::string::npos) << text;
  EXPECT_NE(text.find("  at, most[i0 in 4] = argmax(k in 6) (k, A[i0, k])\n"), std::string::npos);
  EXPECT_EQ(again(text), text);
}

TEST(TeText, ScansNestAndHaveSeveralStates) {
  const std::string text =
      "te f(x: f32[5, 4, 3], h0: f32[3], c0: f32[3]) {\n"
      "  h, c, sums = scan(t in 5, hp = h0, cp = c0) {\n"
      "    inner = scan(s in 4, p = hp) {\n"
      "      q[i in 3] = p[i] * 0.5 + x[t, s, i]\n"
      "      yield q\n"
      "    }\n"
      "    last[i in 3] = inner[3, i]\n"
      "    n[i in 3] = cp[i] + last[i]\n"
      "    total[] = sum(i in 3, s in 4) inner[s, i]\n"
      "    yield last, n, total\n"
      "  }\n"
      "  return h, c, sums\n"
      "}\n";
  EXPECT_EQ(again(text), text);
}

TEST(TeText, NamesThatClashOrEndAListAreChanged) {
  const Tensor A = placeholder("i0", F32, {4});
  const Tensor y = compute("yield", {4}, [&](Var i) { return A(i) + 1; });
  const Tensor b = compute("block", {4}, [&](Var i) { return y(i) + 1; });
  const Tensor z = compute("i0", {4}, [&](Var i) { return b(i) + 1; });
  const std::string text = print(program("f", {A}, {z}));
  EXPECT_EQ(text,
            "te f(i0: f32[4]) {\n"
            "  yield_[i0_1 in 4] = i0[i0_1] + 1.0\n"
            "  block_[i0_1 in 4] = yield_[i0_1] + 1.0\n"
            "  i0_1[i0_2 in 4] = block_[i0_2] + 1.0\n"
            "  return i0_1\n"
            "}\n");
  again(text);
}

struct Wrong {
  const char* text;
  std::string_view code;
  int line;
  const char* phrase;
};

class TeTextErrors : public testing::TestWithParam<Wrong> {};

TEST_P(TeTextErrors, SayWhatIsWrongAndWhere) {
  const Wrong& w = GetParam();
  const Diagnostic d = diagnostic_of([&] { parse_program(w.text); });
  EXPECT_EQ(d.code, w.code) << render(d);
  EXPECT_EQ(d.at.line, w.line) << render(d);
  EXPECT_NE(render(d).find(w.phrase), std::string::npos) << render(d);
  EXPECT_FALSE(d.help.empty());
}

constexpr Wrong kWrong[] = {
    {"te f(A: f32[n]) {\n  B[i in n] = A[i]\n}", "ir.parse.expected", 3, "`return`"},
    {"te f(A: f32[n]) {\n  B[i in n] = A[i]\n  return C\n}", "ir.parse.name", 3, "`C`"},
    {"te f(A: f32[n]) {\n  B = A[i]\n  return B\n}", "ir.parse.expected", 2, "scan"},
    {"te f(A: f32[n]) {\n  B[i in n] = A[i] + 1\n  return B\n}", "ir.type.check", 2, "f32 and i64"},
    {"te f(A: f32[n]) {\n  B[i in n] = A[i, i]\n  return B\n}", "ir.type.check", 2, "`A`"},
    {"te f(A: f32[n]) {\n  B[i in n] = sun(k in n) A[k]\n  return B\n}", "ir.parse.reducer", 2,
     "sum"},
    {"te f(A: f32[n]) {\n  B[] = all(k in n) A[k]\n  return B\n}", "ir.type.check", 2, "&&"},
    {"te f(A: f32[n]) {\n  B[i in n] = sum() A[i]\n  return B\n}", "te.reduce.axes", 2, "no axis"},
    {"te f(A: f32[n]) {\n  B, C[i in n] = (A[i])\n  return B\n}", "te.parse.values", 2, "2 names"},
    {"te f(A: f32[n]) {\n  B[i in n] = A[i]\n  B[i in n] = A[i]\n  return B\n}",
     "ir.parse.duplicate", 3, "`B`"},
    {"te f(A: f32[-1]) {\n  return A\n}", "te.shape.negative", 1, "extent 0 of `A` is -1"},
    {"te f(A: f32[4]) {\n  B[i in 4 - 5] = A[0]\n  return B\n}", "te.shape.negative", 2,
     "`4 - 5` of `B`"},
    {"te f(A: i64[4]) {\n  B[i in A[0]] = i\n  return B\n}", "te.shape.data", 2, "axis `i`"},
    {"te f(A: i64[4]) {\n  B[i in 4, j in i] = i\n  return B\n}", "te.shape.symbol", 2, "`i`"},
    {"te f(A: f32[n]) where n in -4..5 {\n  return A\n}", "te.shape.negative", 1, "`n`"},
    {"te f(A: f32[n]) {\n  B[i in n] = reduce_add(A[ramp(i, 1, 4)])\n  return B\n}",
     "te.parse.lanes", 2, "single elements"},
    {"te f(A: f32[n]) {\n  h = scan(t in n) {\n    yield A\n  }\n  return h\n}", "te.scan.state", 2,
     "no state"},
    {"te f(A: f32[n]) {\n  h = scan(t in n, p = A) {\n    q[] = p[0]\n    yield q\n  }\n  return "
     "h\n}",
     "te.scan.state", 2, "`q`"},
    {"te f(A: f32[n]) {\n  h, g = scan(t in n, p = A) {\n    yield p\n  }\n  return h\n}",
     "te.parse.values", 2, "yields 1 tensors for 2 names"},
    {"te f(A: f32[n]) {\n  h = scan(t in n, p = A) {\n    yield p\n  }\n  return p\n}",
     "ir.parse.name", 5, "`p`"},
    {"te f(A: f32[n]) { return A }\nte g(A: f32[n]) { return A }", "te.parse.count", 1,
     "2 programs"},
    {"te f(A: f32[n", "ir.parse.end", 1, "`)`"},
    {"te", "ir.parse.end", 1, "a program"},
};
INSTANTIATE_TEST_SUITE_P(All, TeTextErrors, testing::ValuesIn(kWrong));

TEST(TeText, DeepNestingIsRefused) {
  std::string text = "te f(A: f32[4]) {\n";
  for (int i = 0; i < 100000; ++i)
    text += "h" + std::to_string(i) + " = scan(t" + std::to_string(i) + " in 2, p" +
            std::to_string(i) + " = A) {\n";
  EXPECT_EQ(diagnostic_of([&] { parse_program(text); }).code, "te.parse.depth");
}

}  // namespace
}  // namespace tilewright::te
