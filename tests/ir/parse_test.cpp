// SPDX-License-Identifier: Apache-2.0
#include "ir/parse.h"

#include <cmath>
#include <gtest/gtest.h>

#include "common/errors.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "support/str.h"

namespace tilewright::ir {
namespace {

class ParseExpr : public ::testing::Test {
 protected:
  Var i{"i"}, j{"j"};
  Var p{"p", kBool};
  Var x{"x", kF32};
  Buffer a = make_buffer("a", Elem::F32, {Expr(8)});
  Environment names{.vars = {i, j, p, x}, .buffers = {a}};

  Expr expr(std::string_view text) const { return parse_expr(text, names); }
  void expect(std::string_view text, const Expr& meant) const {
    EXPECT_TRUE(equal(expr(text), meant)) << text << " is " << print(expr(text));
  }
  static Expr bin(BinaryOp op, const Expr& a, const Expr& b) { return make<Binary>({}, op, a, b); }
};

TEST_F(ParseExpr, BindsOperatorsByTheirPrecedence) {
  using enum BinaryOp;
  expect("i + j * 2", bin(Add, i, bin(Mul, j, 2)));
  expect("i - j - 2", bin(Sub, bin(Sub, i, j), 2));
  expect("i << 2 + j", bin(Shl, i, bin(Add, 2, j)));
  expect("i & j ^ 1 | 2", bin(BitOr, bin(BitXor, bin(BitAnd, i, j), 1), 2));
  expect("i < j && p || p", bin(Or, bin(And, bin(Lt, i, j), p), p));
  expect("-i * j", bin(Mul, make<Unary>({}, UnaryOp::Neg, i), j));
}

TEST_F(ParseExpr, TurnsGreaterIntoLess) {
  expect("i > j", bin(BinaryOp::Lt, j, i));
  expect("i >= j", bin(BinaryOp::Le, j, i));
}

TEST_F(ParseExpr, ReadsConstantsOfEveryType) {
  expect("-9223372036854775808", int_imm(Elem::I64, INT64_MIN));
  expect("18446744073709551615:u64", int_imm(Elem::U64, -1));
  expect("-8:i4", int_imm(Elem::I4, -8));
  expect("1:bool", bool_imm(true));
  expect("1:f16", float_imm(Elem::F16, 1));
  expect("0.1", float_imm(Elem::F32, 0.1));
  expect("1e3:f64", float_imm(Elem::F64, 1000));
  expect("-inf:bf16", float_imm(Elem::BF16, -INFINITY));
  expect("-(1)", make<Unary>({}, UnaryOp::Neg, Expr(1)));
}

TEST_F(ParseExpr, FoldsNothing) {
  expect("1 + 2", bin(BinaryOp::Add, 1, 2));
  expect("i + 0", bin(BinaryOp::Add, i, 0));
}

TEST_F(ParseExpr, ReadsAccesses) {
  const std::vector<Expr> at = {i};
  expect("a[i]", make<Load>({}, a, at));
  expect("a@j[i]", make<Load>({}, a, at, Expr(), j));
  expect("a@(j + 1)[i] mask (p)", make<Load>({}, a, at, p, bin(BinaryOp::Add, j, 1)));
  expect("f32x8(broadcast(i, 8))", make<Cast>({}, Elem::F32, broadcast(i, 8)));
  expect("bits:i32(x)", make<Reinterpret>({}, Elem::I32, x));
}

TEST(ParseStmt, AWordOfAClauseMayNameABuffer) {
  const std::string text =
      "alloc shared: f32[4] shared\n"
      "alloc mask: f32[4] register\n"
      "alloc pad: f32[4] layout (i) -> [address: i] extents [4]\n"
      "alloc align: f32[4]\n"
      "align[0] = shared[0]\n"
      "mask[0] = mask[1] mask (true)\n"
      "pad[0] = 1.0\n";
  EXPECT_EQ(print(parse_stmt(text)), text);
}

TEST(ParseStmt, NeedsNoNewlines) {
  EXPECT_EQ(print(parse_stmt("alloc a: i64[2] a[0] = 1 a[1] = a[0] - 1 barrier block")),
            "alloc a: i64[2]\na[0] = 1\na[1] = a[0] - 1\nbarrier block\n");
}

TEST(ParseStmt, KeepsThePlaces) {
  const Stmt s = parse_stmt("barrier block\n  for i in 0..4 { }");
  const StmtNode& loop = *s.as<Seq>()->stmts[1];
  EXPECT_EQ(loop.span.line, 2);
  EXPECT_EQ(loop.span.col, 3);
  EXPECT_EQ(loop.span.line_text(), "  for i in 0..4 { }");
}

TEST(Parse, HandsItemsOfOtherLayersToTheirParsers) {
  std::vector<std::string> read;
  const ItemParsers others = {{"trace", [&](Cursor& cursor, const Items& items) {
                                 cursor.next();
                                 read.push_back(std::string(cursor.expect_name("a trace").text));
                                 cursor.expect("{", "after the name");
                                 Names names;
                                 read.push_back(print(ExprParser(cursor, names).expr()));
                                 cursor.expect("}", "after the steps");
                                 EXPECT_EQ(items.reducers.count("mine"), 1u);
                               }}};
  const auto source = std::make_shared<const Source>(
      Source{"k.tw",
             "reducer mine(x: f32 | y: f32) = (x + y) identity (0.0)\n"
             "trace t { 1 + 2 }\n"
             "loops f() { }\n"});
  const Unit unit = parse(source, others);
  EXPECT_EQ(read, (std::vector<std::string>{"t", "1 + 2"}));
  EXPECT_EQ(unit.functions.size(), 1u);
  EXPECT_EQ(diagnostic_of([&] { parse(source); }).code, "ir.parse.item");
}

/// A text in which something is wrong, and what is said about it.
struct Wrong {
  std::string text;
  std::string_view code;
  int line, col;
  std::string phrase;
};

class Refused : public ::testing::TestWithParam<Wrong> {};

TEST_P(Refused, WithCodePlaceAndReason) {
  const Wrong& wrong = GetParam();
  const Diagnostic d = diagnostic_of([&] { parse(wrong.text, "wrong.tw"); });
  EXPECT_EQ(d.code, wrong.code);
  EXPECT_EQ(d.at.line, wrong.line);
  EXPECT_EQ(d.at.col, wrong.col);
  const std::string said = render(d);
  EXPECT_NE(said.find(wrong.phrase), std::string::npos) << said;
  EXPECT_FALSE(d.help.empty());
}

/// A function around statements, which start in line 2.
std::string in_function(std::string_view stmts) {
  return str("loops f(a: inout f32[8], b: inout i64[8], n: inout i64[]) where m in 1..9 {\n", stmts,
             "\n}");
}
std::string repeated(std::string_view text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    Lexer, Refused,
    ::testing::Values(
        Wrong{"loops f() { # }", "ir.parse.character", 1, 13, "\"#\" has no meaning"},
        Wrong{std::string("loops\0f", 7), "ir.parse.character", 1, 6, "\\x00"},
        Wrong{"loops \xc3\xa9()", "ir.parse.character", 1, 7, "outside of ASCII"},
        Wrong{in_function("b[0] = 0x10"), "ir.parse.number", 2, 8, "followed by `x`"},
        Wrong{in_function("a[0] = 1.5f32"), "ir.parse.number", 2, 8, "`1.5` is followed by `f`"},
        Wrong{in_function("barrier named \"x"), "ir.parse.string", 2, 15, "has no end"},
        Wrong{in_function("barrier named \"\\q\" 4"), "ir.parse.string", 2, 16, "backslash"},
        Wrong{in_function("barrier named \"x\\"), "ir.parse.string", 2, 17, "backslash"},
        Wrong{"loops " + std::string(2000, 'x'), "ir.parse.name", 1, 7, "2000 letters"}));

INSTANTIATE_TEST_SUITE_P(
    Items, Refused,
    ::testing::Values(
        Wrong{"loop f() { }", "ir.parse.item", 1, 1, "found `loop`"},
        Wrong{"loops f(", "ir.parse.end", 1, 8, "the parameters have no end"},
        Wrong{"loops f() {\n", "ir.parse.end", 2, 1, "opened in line 1"},
        Wrong{"loops f() { } }", "ir.parse.item", 1, 15, "found `}`"},
        Wrong{"loops f() { }\nloops f() { }", "ir.parse.duplicate", 2, 7, "starts in line 1"},
        Wrong{"loops f(a: f32[]) { }", "ir.parse.expected", 1, 12, "in, out or inout"},
        Wrong{"loops f(a: in f32[n]) { }", "ir.parse.name", 1, 19, "named `n`"},
        Wrong{"loops f(a: in f32[1.5]) { }", "ir.type.check", 1, 9, "not i64"},
        Wrong{"loops f(a: in f31[]) { }", "ir.type.unknown", 1, 15, "found `f31`"},
        Wrong{"loops f(a: in f32x4[]) { }", "ir.type.unknown", 1, 15, "not an element type"},
        Wrong{"loops f(a: in f32[], a: in f32[]) { }", "ir.parse.duplicate", 1, 22, "`a`"},
        Wrong{"loops f() where n in 5..4 { }", "ir.parse.range", 1, 25, "cannot be 4"},
        Wrong{"loops f() where n in 0..4 div 0 { }", "ir.parse.range", 1, 31, "divisor"},
        Wrong{"loops f() stage last { }", "ir.parse.expected", 1, 17, "a stage"},
        Wrong{"loops f(a: in f32[2] layout (i, j) -> [] extents []) { }", "ir.type.layout", 1, 22,
              "2 indices, the buffer 1"},
        Wrong{"loops f(a: in f32[2] layout (i) -> [address: i] extents []) { }", "ir.type.layout",
              1, 49, "0 extents"},
        Wrong{"loops f(a: in f32[2] layout (i) -> [adress: i] extents [2]) { }",
              "ir.parse.expected", 1, 37, "address, lane, register"},
        Wrong{"reducer sum(x: f32 | y: f32) = (x) identity (0.0)", "ir.parse.duplicate", 1, 9,
              "`sum` already"},
        Wrong{"reducer r(x: f32 | y: i32) = (x) identity (0.0)", "ir.type.reducer", 1, 20,
              "(f32), the right side is (i32)"},
        Wrong{"reducer r(x: f32 | y: f32) = (x, y) identity (0.0)", "ir.type.reducer", 1, 28,
              "the combined value is (f32, f32)"},
        Wrong{"reducer r(x: f32 | y: f32) = (x) identity (x)", "ir.parse.name", 1, 44, "named `x`"},
        Wrong{"reducer r(x: f32 | y: f32) = (x) identity (0.0)\n"
              "rescale (s: f32 | a: f32) = (s)",
              "ir.type.reducer", 2, 1, "in pairs"},
        Wrong{"instr i(a: in f32[]) { reset { } }", "ir.parse.expected", 1, 24, "`compute`"},
        Wrong{"instr i() { compute { } }\ninstr i() { compute { } }", "ir.parse.duplicate", 2, 7,
              "instruction `i`"}));

INSTANTIATE_TEST_SUITE_P(
    Statements, Refused,
    ::testing::Values(
        Wrong{in_function("a[0] = x"), "ir.parse.name", 2, 8, "named `x`"},
        Wrong{in_function("a[0] = a[n]"), "ir.parse.kind", 2, 10, "`n` is a buffer"},
        Wrong{in_function("m[0] = 1.0"), "ir.parse.kind", 2, 1, "`m` is a variable, not a buffer"},
        Wrong{in_function("for idx in 0..4 { a[idy] = 1.0 }"), "ir.parse.name", 2, 21,
              "did you mean `idx`?"},
        Wrong{in_function("for m in 0..4 { }"), "ir.parse.duplicate", 2, 5, "from line 1"},
        Wrong{in_function("for for in 0..4 { }"), "ir.parse.reserved", 2, 5, "`for`"},
        Wrong{in_function("for i in 0 4 { }"), "ir.parse.expected", 2, 12, "`..` or `+:`"},
        Wrong{in_function("for i in 0..4.0 { }"), "ir.type.check", 2, 1, "extent of loop `i`"},
        Wrong{in_function("for i in 1..true { }"), "ir.type.check", 2, 10, "bool and i64"},
        Wrong{in_function("for i in -2..9223372036854775807 { }"), "ir.parse.range", 2, 10, "2^63"},
        Wrong{in_function("bind(thread.w) for i in 0..4 { }"), "ir.parse.axis", 2, 6,
              "`thread.w` is not a thread axis"},
        Wrong{in_function("let x: f64 = 1.0"), "ir.type.check", 2, 5, "`x` is f64, its value f32"},
        Wrong{in_function("a[0] = 1"), "ir.type.check", 2, 1, "`a` takes f32, not i64"},
        Wrong{in_function("a[0, 1] = 1.0"), "ir.type.check", 2, 1, "1 dimensions, the access 2"},
        Wrong{in_function("a[0] + 1"), "ir.parse.expected", 2, 6, "a reducer and `=`"},
        Wrong{in_function("a[0] total= 1.0"), "ir.parse.reducer", 2, 6, "no reducer `total`"},
        Wrong{in_function("a[0] sun= 1.0"), "ir.parse.reducer", 2, 6, "did you mean `sum`?"},
        Wrong{in_function("a[0] all= true"), "ir.type.check", 2, 6, "needs bool"},
        Wrong{in_function("a[0], b[0] sum= 1.0, 2"), "ir.type.check", 2, 1, "combines 1 values"},
        Wrong{in_function("a[0] mask (true) sum= 1.0"), "ir.parse.update", 2, 1, "neither mask"},
        Wrong{in_function("if 1 { }"), "ir.type.check", 2, 1, "not a bool"},
        Wrong{in_function("call dot(a[0])"), "ir.parse.instruction", 2, 6, "`dot`"},
        Wrong{in_function("wait a[0]"), "ir.parse.kind", 2, 6, "not a channel"},
        Wrong{in_function("channel c[0] commits=1 releases=1 over block"), "ir.parse.range", 2, 11,
              "slots"},
        Wrong{in_function("channel c[1] commits=1 releases=1 over grid"), "ir.parse.expected", 2,
              40, "agent, block, cluster"},
        Wrong{in_function("atomic sub (a[0], 1.0)"), "ir.parse.expected", 2, 8, "compare_exchange"},
        Wrong{in_function("atomic add (a[0], 1.0, 2.0)"), "ir.type.check", 2, 1, "expected value"},
        Wrong{in_function("prefetch 4 a[0]"), "ir.parse.range", 2, 10, "cache level cannot be 4"},
        Wrong{in_function("agents { }"), "ir.type.check", 2, 1, "without an agent"},
        Wrong{in_function("agents { l(t in 1..4): { } }"), "ir.parse.range", 2, 17, "first value"},
        Wrong{in_function("block p(i: spatial 4) { }"), "ir.parse.expected", 2, 21, "`=`"},
        Wrong{in_function("block p(i: spatial 4 = j, j: spatial 4 = 0) { }"), "ir.parse.name", 2,
              24, "named `j`"},
        Wrong{in_function("alloc t: f32[4] align -1"), "ir.parse.expected", 2, 17, "a statement"},
        Wrong{in_function("1 + 2"), "ir.parse.expected", 2, 1, "a statement"},
        Wrong{in_function("for i in 0..4 hints () { }"), "ir.parse.expected", 2, 22, "a hint"},
        Wrong{in_function("for i in 0..4 hints (d = 1.5) { }"), "ir.parse.expected", 2, 26,
              "a number or a text"},
        Wrong{in_function("for i in 0..4 hints (d = \"\") { }"), "ir.parse.hint", 2, 26, "empty"},
        Wrong{in_function("block p() hints (d = 1, d = 2) { }"), "ir.type.check", 2, 1, "twice"},
        Wrong{in_function("else { }"), "ir.parse.expected", 2, 1, "a statement"},
        Wrong{in_function("barrier everyone"), "ir.parse.expected", 2, 9, "who waits"}));

INSTANTIATE_TEST_SUITE_P(
    Expressions, Refused,
    ::testing::Values(
        Wrong{in_function("b[0] = 1 +"), "ir.parse.expected", 3, 1, "expected an expression"},
        Wrong{in_function("b[0] = (1"), "ir.parse.expected", 3, 1, "`)`"},
        Wrong{in_function("b[0] = 1 + 2.0"), "ir.type.check", 2, 10, "types i64 and f32"},
        Wrong{in_function("b[0] = !1"), "ir.type.check", 2, 8, "needs bool"},
        Wrong{in_function("b[0] = 9223372036854775808"), "ir.type.constant", 2, 8,
              "does not fit i64"},
        Wrong{in_function("b[0] = 99999999999999999999999"), "ir.type.constant", 2, 8,
              "does not fit"},
        Wrong{in_function("b[0] = 128:i8"), "ir.type.constant", 2, 8, "does not fit i8"},
        Wrong{in_function("b[0] = -1:u8"), "ir.type.constant", 2, 9, "-1 does not fit u8"},
        Wrong{in_function("b[0] = 1.5:i8"), "ir.type.constant", 2, 8, "no integer"},
        Wrong{in_function("a[0] = 1e39"), "ir.type.constant", 2, 8, "does not fit f32"},
        Wrong{in_function("a[0] = 70000:f16"), "ir.type.constant", 2, 8, "does not fit f16"},
        Wrong{in_function("a[0] = inf:f8e4m3"), "ir.type.constant", 2, 8, "does not fit f8e4m3"},
        Wrong{in_function("a[0] = 1.0:f32x4"), "ir.type.constant", 2, 12, "broadcast(1.0:f32, 4)"},
        Wrong{in_function("b[0] = broadcast(1, 5000)"), "ir.parse.range", 2, 21, "from 2 to 4096"},
        Wrong{in_function("b[0] = ramp(0, 1, 1)"), "ir.parse.range", 2, 19, "lanes cannot be 1"},
        Wrong{in_function("b[0] = expp(1)"), "ir.parse.function", 2, 8, "did you mean `exp`?"},
        Wrong{in_function("b[0] = min(1)"), "ir.parse.arguments", 2, 8, "2 arguments, not 1"},
        Wrong{in_function("b[0] = f32x4(1)"), "ir.type.check", 2, 8, "i64 to f32x4"},
        Wrong{in_function("b[0] = bits:i32(1)"), "ir.type.check", 2, 8, "another width"},
        Wrong{in_function("b[0] = while"), "ir.parse.reserved", 2, 8, "`while`"},
        Wrong{in_function("b[0 = 1"), "ir.parse.expected", 2, 5, "`,` or `]`"},
        Wrong{in_function("b@[0] = 1"), "ir.parse.expected", 2, 3, "after `@`"}));

TEST(Parse, EveryPrefixOfAProgramIsRefusedWithAPlace) {
  const std::string text = in_function(
      "alloc t: f32[4] shared align 64 layout (i; r in 0..2) -> [address: i, lane: r] extents [4, "
      "2] "
      "pad zero\n"
      "block p(i: reduce 4 = m) where m < 3 reads a[i +: 2] writes t[i] { init { } t[i] sum= a[i] "
      "}\n"
      "agents { l[c in 0..2](u in 0..4, regs=8): { barrier named \"x\\x00\" 4 } }\n");
  ASSERT_NO_THROW(parse(text));
  for (size_t n = 1; n < text.size() - 1; ++n) {
    const Diagnostic d = diagnostic_of([&] { parse(text.substr(0, n)); });
    EXPECT_GT(d.at.line, 0);
    EXPECT_EQ(d.code.substr(0, 3), "ir.");
  }
}

TEST(Parse, LimitsHowDeepThingsNest) {
  const auto code = [](const std::string& stmts) {
    return diagnostic_of([&] { parse(in_function(stmts)); }).code;
  };
  EXPECT_EQ(code("b[0] = " + repeated("(", 100000)), "ir.parse.depth");
  EXPECT_EQ(code("b[0] = " + repeated("-", 100000) + "1"), "ir.parse.depth");
  EXPECT_EQ(code("b[0] = " + repeated("b[", 100000)), "ir.parse.depth");
  EXPECT_EQ(code("b[0] = 1" + repeated(" + 1", 100000)), "ir.parse.depth");
  EXPECT_EQ(code("b[0] = " + repeated("b@(", 100000)), "ir.parse.depth");
  EXPECT_EQ(code(repeated("{", 100000)), "ir.parse.depth");
  EXPECT_EQ(code(repeated("if true {", 100000)), "ir.parse.depth");
  EXPECT_EQ(code("if true { }" + repeated(" else if true { }", 100000)), "ir.parse.depth");
  std::string lets;
  for (int i = 0; i < 100000; ++i) lets += str("let x", i, " = 1\n");
  EXPECT_EQ(code(lets), "ir.parse.depth");
}

TEST(Parse, TakesWhatIsJustWithinTheLimits) {
  std::string text = repeated("if true {", 150);
  for (int i = 0; i < 200; ++i) text += str("let x", i, " = 1\n");
  text += "b[0] = x0" + repeated(" + x1", 240) + repeated("}", 150);
  const LoopFunc f = parse_function(in_function(text));
  EXPECT_TRUE(equal(parse_function(print(f)), f));
}

TEST(Parse, ReadsLongTextsInLinearTime) {
  const std::string text = in_function(repeated("a[0] = a[1] + a[2] * 2.0 // again\n", 100000));
  EXPECT_EQ(parse_function(text).body.as<Seq>()->stmts.size(), 100000u);
  // A mistake at the end of one long line shows its surroundings only.
  const std::string line = in_function(repeated("a[0] = 1.0 ", 100000) + "?");
  const Diagnostic d = diagnostic_of([&] { parse(line); });
  EXPECT_EQ(d.at.col, 1100001);
  EXPECT_LT(render(d).size(), 2000u);
}

TEST(ParseFunction, WantsExactlyOne) {
  EXPECT_EQ(diagnostic_of([] { parse_function("loops f() { } loops g() { }"); }).code,
            "ir.parse.function_count");
}

TEST(ParseStmt, WantsNothingBehindThePart) {
  EXPECT_EQ(diagnostic_of([] { parse_stmt("barrier block }"); }).code, "ir.parse.expected");
  EXPECT_EQ(diagnostic_of([] { parse_expr("1 2"); }).code, "ir.parse.expected");
}

}  // namespace
}  // namespace tilewright::ir
