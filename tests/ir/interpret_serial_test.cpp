// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "run_text.h"

namespace tilewright::ir {
namespace {

TEST(InterpretSerial, RunsLoopsInOrder) {
  const std::string text = R"(
    loops f(C: out i64[6]) {
      alloc n: i64[] register
      n[] = 0
      for i in 2..5 { for j in 0 +: 2 { C[n[]] = i * 10 + j
                                        n[] = n[] + 1 } }
    })";
  EXPECT_EQ(result_of(text, {i64s(std::vector<double>(6))}),
            (std::vector<double>{20, 21, 30, 31, 40, 41}));
}

TEST(InterpretSerial, RunsUnrolledAndVectorizedLoopsAsSerial) {
  const std::string text = R"(
    loops f(C: inout i64[4]) stage scheduled {
      unrolled for i in 1..4 { C[i] = C[i - 1] + i }
      vectorized for i in 1..4 { C[i] = C[i - 1] * 2 + C[i] }
    })";
  EXPECT_EQ(result_of(text, {i64s({1, 0, 0, 0})}), (std::vector<double>{1, 4, 12, 31}));
}

TEST(InterpretSerial, RunsNoIterationOfAnEmptyLoop) {
  const std::string text = R"(
    loops f(C: inout i64[1]) {
      for i in 3..3 { C[0] = 1 }
      for i in 3..1 { C[0] = 2 }
      for i in 0 +: -4 { C[0] = 3 }
    })";
  EXPECT_EQ(result_of(text, {i64s({7})}), (std::vector<double>{7}));
}

TEST(InterpretSerial, RunsWhileIfAndLet) {
  const std::string text = R"(
    loops f(A: in i64[5], C: out i64[2]) {
      alloc n: i64[] register
      n[] = 0
      C[0] = 0
      while guard(n[] < 5, A[n[]] != 0, false) {
        let x = A[n[]]
        if x % 2 == 0 { C[0] = C[0] + x } else if x > 100 { C[0] = C[0] + 1 } else { C[0] = C[0] - x }
        n[] = n[] + 1
      }
      C[1] = n[]
    })";
  EXPECT_EQ(result_of(text, {i64s({4, 3, 101, 0, 9}), i64s({0, 0})}), (std::vector<double>{2, 3}));
}

TEST(InterpretSerial, RoundsEveryFloatOperationToItsType) {
  const std::string text = R"(
    loops f(C: out f32[2], H: out f16[1]) {
      C[0] = 16777216.0 + 1.0
      C[1] = (16777216.0 + 1.0) + 1.0
      H[0] = 2048.0:f16 + 1.0:f16
    })";
  std::vector<Array> args = {f32s({0, 0}), array_of(Elem::F16, {1}, {0})};
  interpret(parse_function(text), args);
  EXPECT_EQ(numbers(args[0]), (std::vector<double>{16777216, 16777216}));
  EXPECT_EQ(numbers(args[1]), (std::vector<double>{2048}));
}

TEST(InterpretSerial, ConvertsBetweenTypes) {
  const std::string text = R"(
    loops f(A: in f32[4], C: out i64[4]) {
      for i in 0..4 { C[i] = i64(i8(A[i])) + i64(u8(i32(A[i]))) * 1000 }
    })";
  // float -> int saturates, int -> int wraps; NaN gives 0.
  EXPECT_EQ(result_of(text, {f32s({-1.9, 300, 127.6, 0.0 / 0.0}), i64s({0, 0, 0, 0})}),
            (std::vector<double>{-1 + 255000, 127 + 44000, 127 + 127000, 0}));
}

TEST(InterpretSerial, GivesABufferPerAllocation) {
  const std::string text = R"(
    loops f(C: out i64[2]) {
      for i in 0..2 {
        alloc t: i64[2]
        if i == 0 { t[0] = 5 }
        C[i] = t[0]
      }
    })";
  const Diagnostic d = error_of(text, {i64s({0, 0})});
  EXPECT_EQ(d.code, "ir.run.uninitialised");
  EXPECT_EQ(d.at.line, 6);
  EXPECT_TELLS(d, "`t[0]`");
}

TEST(InterpretSerial, KnowsSymbols) {
  const std::string text = R"(
    loops f(A: in i64[n], C: out i64[n * 2]) where n in 0..8 div 2 {
      for i in 0..n { C[i] = A[i]
                      C[i + n] = n }
    })";
  EXPECT_EQ(result_of(text, {i64s({5, 6}), i64s({0, 0, 0, 0})}, {2}),
            (std::vector<double>{5, 6, 2, 2}));
  EXPECT_EQ(result_of(text, {i64s({}), i64s({})}, {0}), std::vector<double>());
  EXPECT_EQ(error_of(text, {i64s({5}), i64s({0, 0})}, {1}).code, "ir.run.symbol");
  EXPECT_EQ(error_of(text, {i64s({}), i64s({})}, {10}).code, "ir.run.symbol");
  EXPECT_EQ(error_of(text, {i64s({}), i64s({})}, {}).code, "ir.run.symbol");
  const Diagnostic shape = error_of(text, {i64s({5, 6}), i64s({0, 0})}, {2});
  EXPECT_EQ(shape.code, "ir.run.argument");
  EXPECT_TELLS(shape, "`C` is i64[4], the array i64[2]");
}

TEST(InterpretSerial, RefusesWrongArguments) {
  const std::string text = "loops f(A: in f32[1], C: out f32[1]) { C[0] = A[0] }";
  EXPECT_EQ(error_of(text, {f32s({1})}).code, "ir.run.argument");
  EXPECT_EQ(error_of(text, {i32s({1}), f32s({1})}).code, "ir.run.argument");
  EXPECT_EQ(error_of(text, {f32s({1}), f32s({1})}, {}, {.arithmetic = Arithmetic::Exact}).code,
            "ir.run.argument");
}

TEST(InterpretSerial, ReportsAnIndexOutOfRange) {
  const std::string text = R"(
    loops f(A: in f32[2, 3], C: out f32[2]) {
      for i in 0..2 {
        C[i] = A[i, i + 2]
      }
    })";
  const Diagnostic d =
      error_of(text, {array_of(Elem::F32, {2, 3}, {1, 2, 3, 4, 5, 6}), f32s({0, 0})});
  EXPECT_EQ(d.code, "ir.run.bounds");
  EXPECT_EQ(d.at.line, 4);
  EXPECT_TELLS(d, "`A[1, 3]`");
  EXPECT_TELLS(d, "shape [2, 3]");
}

TEST(InterpretSerial, GuardEvaluatesOneSideAndSelectBoth) {
  const auto with = [](const std::string& choose) {
    return "loops f(A: in f32[2], C: out f32[3]) { for i in 0..3 { C[i] = " + choose +
           "(i < 2, A[i], 0.5) } }";
  };
  EXPECT_EQ(result_of(with("guard"), {f32s({1, 2}), f32s({0, 0, 0})}),
            (std::vector<double>{1, 2, 0.5}));
  EXPECT_EQ(error_of(with("select"), {f32s({1, 2}), f32s({0, 0, 0})}).code, "ir.run.bounds");
}

TEST(InterpretSerial, ReportsOutputsThatAreNotWritten) {
  const std::string text = "loops f(C: out f32[3]) { C[0] = 1.0\n C[2] = 2.0 }";
  const Diagnostic d = error_of(text, {f32s({0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.unwritten");
  EXPECT_EQ(d.at.line, 1);
  EXPECT_TELLS(d, "`C[1]` is not written");
  EXPECT_TELLS(d, "1 of its 3");
}

TEST(InterpretSerial, ReadsNoOutputBeforeItIsWritten) {
  const std::string text = "loops f(C: out f32[1]) { C[0] = C[0] + 1.0 }";
  EXPECT_EQ(error_of(text, {f32s({3})}).code, "ir.run.uninitialised");
}

TEST(InterpretSerial, WritesNoInput) {
  const std::string text = "loops f(A: in f32[1]) {\n A[0] = 1.0 }";
  const Diagnostic d = error_of(text, {f32s({3})});
  EXPECT_EQ(d.code, "ir.run.input");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_TELLS(d, "`A`");
}

TEST(InterpretSerial, EndsProgramsThatRunTooLong) {
  const std::string text = "loops f() {\n while true { } }";
  const Diagnostic d = error_of(text, {}, {}, {.max_steps = 10000});
  EXPECT_EQ(d.code, "ir.run.limit");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_EQ(
      error_of("loops f() { for i in 0..1000000000000000000 { } }", {}, {}, {.max_steps = 10000})
          .code,
      "ir.run.limit");
}

TEST(InterpretSerial, RefusesSizesBeforeAllocating) {
  EXPECT_EQ(error_of("loops f() { alloc t: f32[4294967296, 4294967296] }").code, "ir.run.size");
  EXPECT_EQ(error_of("loops f() where n in -4..4 { alloc t: f32[n] }", {}, {-1}).code,
            "ir.run.size");
  EXPECT_EQ(error_of("loops f() { alloc t: f32[4294967296] }").code, "ir.run.limit");
}

TEST(InterpretSerial, AcceptsHugeExtentsBesideZero) {
  const std::string text = R"(
    loops f(C: out i64[0]) {
      alloc t: f32[1152921504606846976, 0, 1152921504606846976]
    })";
  EXPECT_EQ(result_of(text, {i64s({})}), std::vector<double>());
}

TEST(InterpretSerial, ReportsAVariableWithoutAValue) {
  const Var i("i"), other("other");
  const Buffer c = make_buffer("C", Elem::I64, {Expr(1)});
  LoopFunc f{.name = "f", .params = {{c, Access::Out}}};
  f.body = make_stmt<Store>(Span{}, c, std::vector<Expr>{0}, other + i);
  std::vector<Array> args = {i64s({0})};
  const Diagnostic d = diagnostic_of([&] { interpret(f, args); });
  EXPECT_EQ(d.code, "ir.run.unbound");
  EXPECT_TELLS(d, "`other`");
}

TEST(InterpretSerial, QuotesTheStatementOfAProgramWithoutText) {
  const Buffer c = make_buffer("C", Elem::I64, {Expr(1)});
  LoopFunc f{.name = "f", .params = {{c, Access::Out}}};
  f.body = make_stmt<Store>(Span{}, c, std::vector<Expr>{3}, Expr(1));
  std::vector<Array> args = {i64s({0})};
  EXPECT_TELLS(diagnostic_of([&] { interpret(f, args); }), "`C[3] = 1`");
}

TEST(InterpretSerial, IgnoresPrefetches) {
  const std::string text = R"(
    loops f(A: in f32[1], C: out f32[1]) stage scheduled {
      prefetch 1 A[0]
      prefetch 2 write C[0]
      C[0] = A[0]
    })";
  EXPECT_EQ(result_of(text, {f32s({3}), f32s({0})}), (std::vector<double>{3}));
}

TEST(InterpretSerial, CombinesTuplesInOneStep) {
  const std::string text = R"(
    reducer argmax(i: i64, x: f32 | j: i64, y: f32)
      = (select(y > x, j, i), max(x, y)) identity (0, -inf:f32)
    loops f(A: in f32[5], V: out f32[1], I: out i64[1]) {
      I[0] = 0
      V[0] = -inf:f32
      for k in 0..5 { I[0], V[0] argmax= k, A[k] }
    })";
  EXPECT_EQ(result_of(text, {f32s({1, 4, 3, 4, 2}), f32s({0}), i64s({0})}),
            (std::vector<double>{1}));
}

TEST(InterpretSerial, CombinesBuiltInReducers) {
  const std::string text = R"(
    loops f(A: in f32[4], C: out f32[4]) {
      C[0] = 0.0
      C[1] = 1.0
      C[2] = inf:f32
      C[3] = -inf:f32
      for k in 0..4 {
        C[0] sum= A[k]
        C[1] prod= A[k]
        C[2] min= A[k]
        C[3] max= A[k]
      }
    })";
  EXPECT_EQ(result_of(text, {f32s({2, -3, 5, 1}), f32s({0, 0, 0, 0})}),
            (std::vector<double>{5, -30, -3, 5}));
}

}  // namespace
}  // namespace tilewright::ir
