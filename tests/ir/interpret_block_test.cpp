// SPDX-License-Identifier: Apache-2.0
#include "run_text.h"

namespace tilewright::ir {
namespace {

/// C = A B, 2 x 3 x 2, with the block's loops and head given.
std::string matmul(const std::string& loops, const std::string& binding,
                   const std::string& regions = "reads A[i, k], B[k, j] writes C[i, j]") {
  return "loops f(A: in f32[2, 3], B: in f32[3, 2], C: out f32[2, 2]) {\n" + loops +
         "\n block matmul(" + binding + ")\n " + regions +
         " {\n init { C[i, j] = 0.0 }\n C[i, j] sum= A[i, k] * B[k, j] }\n }}}}";
}
const std::string kLoops = "for x in 0..2 { for y in 0..2 { for z in 0..3 {";
const std::string kBinding = "i: spatial 2 = x, j: spatial 2 = y, k: reduce 3 = z";

std::vector<Array> matrices() {
  return {array_of(Elem::F32, {2, 3}, {1, 2, 3, 4, 5, 6}),
          array_of(Elem::F32, {3, 2}, {1, 2, 3, 4, 5, 6}), make_array(Elem::F32, {2, 2})};
}
const std::vector<double> kProduct = {22, 28, 49, 64};

TEST(InterpretBlock, RunsInitBeforeTheFirstOfTheReduction) {
  EXPECT_EQ(result_of(matmul(kLoops, kBinding), matrices()), kProduct);
}

TEST(InterpretBlock, RunsInstancesInAnyOrderOfLoops) {
  EXPECT_EQ(
      result_of(matmul("for z in 0..3 { for y in 0..2 { for x in 0..2 {", kBinding), matrices()),
      kProduct);
}

TEST(InterpretBlock, ReadsNothingBeforeInit) {
  const std::string binding = "i: spatial 2 = x, j: spatial 2 = y, k: reduce 3 = 2 - z";
  const Diagnostic d = error_of(matmul(kLoops, binding), matrices());
  EXPECT_EQ(d.code, "ir.run.uninitialised");
  EXPECT_TELLS(d, "`C[0, 0]`");
}

TEST(InterpretBlock, ThePredicateKeepsInstancesInsideTheDomain) {
  const std::string text = R"(
    loops f(A: in f32[5], C: out f32[5]) {
      for o in 0..2 { for i in 0..3 {
        block copy(v: spatial 5 = o * 3 + i) where o * 3 + i < 5 reads A[v] writes C[v] { C[v] = A[v] }
      } }
    })";
  EXPECT_EQ(result_of(text, {f32s({1, 2, 3, 4, 5}), f32s(std::vector<double>(5))}),
            (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(InterpretBlock, ReportsAnInstanceOutsideOfTheDomain) {
  const std::string text = R"(
    loops f(A: in f32[6], C: out f32[6]) {
      for i in 0..6 {
        block copy(v: spatial 5 = i) reads A[v] writes C[v] { C[v] = A[v] }
      }
    })";
  const Diagnostic d = error_of(text, {f32s(std::vector<double>(6)), f32s(std::vector<double>(6))});
  EXPECT_EQ(d.code, "ir.run.domain");
  EXPECT_EQ(d.at.line, 4);
  EXPECT_TELLS(d, "`v = 5`");
  EXPECT_TELLS(d, "0..5");
}

TEST(InterpretBlock, ReportsASecondRunWithoutInit) {
  const std::string twice = "for x in 0..2 { for y in 0..2 { for z in 0..4 {";
  const std::string binding = "i: spatial 2 = x, j: spatial 2 = y, k: reduce 3 = min(z, 2)";
  const Diagnostic d = error_of(matmul(twice, binding), matrices());
  EXPECT_EQ(d.code, "ir.run.instance");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_TELLS(d, "block `matmul` runs twice");
  EXPECT_TELLS(d, "i = 0, j = 0, k = 2");
}

TEST(InterpretBlock, RepeatsAReductionWithItsInit) {
  const std::string again = "for w in 0..2 { for x in 0..2 { for z in 0..3 {";
  const std::string binding = "i: spatial 2 = x, j: spatial 2 = 0, k: reduce 3 = z";
  const std::string text = matmul(again, binding, "reads A[i, k], B[k, j] writes C[i, j]");
  std::vector<Array> args = matrices();
  const Diagnostic d = error_of(text, args);
  EXPECT_EQ(d.code, "ir.run.unwritten");  // and nothing before: each round begins with `init`
  EXPECT_TELLS(d, "`C[0, 1]`");
}

TEST(InterpretBlock, RepeatsInstancesWithoutReduction) {
  // Both halves of C need P[2].
  const std::string text = R"(
    loops f(C: out i64[4]) {
      alloc P: i64[5]
      for h in 0..2 {
        for i in 0..3 {
          block p(v: spatial 5 = h * 2 + i) writes P[v] { P[v] = v * v }
        }
        for i in 0..2 {
          block c(v: spatial 4 = h * 2 + i) reads P[v +: 2] writes C[v] { C[v] = P[v] + P[v + 1] }
        }
      }
    })";
  EXPECT_EQ(result_of(text, {i64s({0, 0, 0, 0})}), (std::vector<double>{1, 5, 13, 25}));
}

TEST(InterpretBlock, AReductionIntoAnotherAllocationIsAnotherOne) {
  // Each iteration sums into a buffer of its own, without init for the first one.
  const std::string text = R"(
    loops f(A: in i64[2], C: out i64[2]) stage scheduled {
      parallel for i in 0..2 {
        alloc s: i64[1]
        for k in 0..2 {
          block sum(v: spatial 1 = 0, r: reduce 2 = k) reads A[r] writes s[v] {
            init { s[v] = 0 }
            s[v] sum= A[r]
          }
        }
        C[i] = s[0]
      }
    })";
  EXPECT_EQ(result_in_any_order(text, {i64s({3, 4}), i64s({0, 0})}), (std::vector<double>{7, 7}));
}

TEST(InterpretBlock, TheInitOfOnePartBeginsTheReductionOfTheOthers) {
  // As `partition` cuts a reduction that a consumer computes again in every iteration.
  const auto parts = [](const std::string& last) {
    return R"(
    loops f(A: in i64[3], C: out i64[2]) {
      alloc s: i64[1]
      for i in 0..2 {
        for r in 0..2 {
          block first(k: reduce 3 = r, o: ordered 2 = r) reads A[k] writes s[0] {
            init { s[0] = 0 }
            s[0] sum= A[k]
          }
        }
        for r in 2..4 {
          block rest(k: reduce 3 = )" +
           last + R"() reads A[k] writes s[0] {
            init { s[0] = 0 }
            s[0] sum= A[k]
          }
        }
        C[i] = s[0]
      }
    })";
  };
  const std::vector<Array> args = {i64s({3, 4, 5}), i64s({0, 0})};
  EXPECT_EQ(result_of(parts("r) where (r < 3"), args), (std::vector<double>{12, 12}));
  EXPECT_EQ(error_of(parts("2"), args).code, "ir.run.instance");
}

TEST(InterpretBlock, AReductionInsideAnotherInstanceIsAnotherOne) {
  const auto nested = [](const std::string& k) {
    return R"(
    loops f(A: in i64[2], C: inout i64[2]) {
      for o in 0..2 {
        block outer(a: spatial 2 = o) reads A[0..2] writes C[0..2] {
          for i in 0..2 {
            block inner(b: reduce 2 = )" +
           k + R"() reads A[b] writes C[0] { init { C[0] = 0 }
                                             C[0] sum= A[b] }
          }
        }
      }
    })";
  };
  EXPECT_EQ(result_of(nested("i"), {i64s({3, 4}), i64s({9, 9})}), (std::vector<double>{7, 9}));
  EXPECT_EQ(error_of(nested("1"), {i64s({3, 4}), i64s({9, 9})}).code, "ir.run.instance");
}

TEST(InterpretBlock, ReportsAReadOutsideOfTheRegions) {
  const Diagnostic d =
      error_of(matmul(kLoops, kBinding, "reads A[i, 0..2], B[k, j] writes C[i, j]"), matrices());
  EXPECT_EQ(d.code, "ir.run.region");
  EXPECT_EQ(d.at.line, 6);
  EXPECT_TELLS(d, "reads `A[0, 2]`");
  EXPECT_TELLS(d, "`A[0 +: 1, 0 +: 2]`");
}

TEST(InterpretBlock, ReportsABufferWithoutARegion) {
  EXPECT_EQ(error_of(matmul(kLoops, kBinding, "reads A[i, k] writes C[i, j]"), matrices()).code,
            "ir.run.region");
  const Diagnostic d =
      error_of(matmul(kLoops, kBinding, "reads A[i, k], B[k, j], C[i, j]"), matrices());
  EXPECT_EQ(d.code, "ir.run.region");
  EXPECT_EQ(d.at.line, 5);
  EXPECT_TELLS(d, "writes `C[0, 0]`");
}

TEST(InterpretBlock, RegionsCoverInitAndInnerBlocks) {
  const std::string text = R"(
    loops f(A: in i64[4], C: out i64[2]) {
      for o in 0..2 {
        block outer(a: spatial 2 = o) reads A[a * 2] writes C[a] {
          C[a] = 0
          for i in 0..2 {
            block inner(b: reduce 2 = i) reads A[a * 2 + b] writes C[a] { C[a] sum= A[a * 2 + b] }
          }
        }
      }
    })";
  const Diagnostic d = error_of(text, {i64s({1, 2, 3, 4}), i64s({0, 0})});
  EXPECT_EQ(d.code, "ir.run.region");
  EXPECT_TELLS(d, "block `outer` reads `A[1]`");
}

TEST(InterpretBlock, RegionsDoNotConcernBuffersOfTheBlock) {
  const std::string text = R"(
    loops f(A: in i64[2], C: out i64[2]) {
      for o in 0..2 {
        block b(v: spatial 2 = o) reads A[v] writes C[v] {
          alloc t: i64[] register
          t[] = A[v] * 2
          C[v] = t[]
        }
      }
    })";
  EXPECT_EQ(result_of(text, {i64s({1, 2}), i64s({0, 0})}), (std::vector<double>{2, 4}));
}

TEST(InterpretBlock, SkipsItsRulesWhenAskedTo) {
  EXPECT_EQ(result_of(matmul(kLoops, kBinding, "reads A[i, 0..2] writes C[i, j]"), matrices(), {},
                      {.check = false}),
            kProduct);
}

TEST(InterpretBlock, RunsOrderedIterators) {
  const std::string text = R"(
    loops f(A: in i64[4], C: out i64[5]) {
      C[0] = 0
      for t in 0..4 {
        block scan(v: ordered 4 = t) reads C[v], A[v] writes C[v + 1] { C[v + 1] = C[v] + A[v] }
      }
    })";
  EXPECT_EQ(result_of(text, {i64s({1, 2, 3, 4}), i64s(std::vector<double>(5))}),
            (std::vector<double>{0, 1, 3, 6, 10}));
}

TEST(InterpretBlock, ParallelInstancesShareTheirReduction) {
  const std::string text = R"(
    loops f(A: in i64[3], C: out i64[2]) stage scheduled {
      parallel for i in 0..3 {
        for k in 0..3 {
          block b(v: spatial 2 = min(i, 1), r: reduce 3 = k) reads A[r] writes C[v] {
            init { C[v] = 0 }
            C[v] sum= A[r]
          }
        }
      }
    })";
  EXPECT_EQ(error_in_any_order(text, {i64s({1, 2, 3}), i64s({0, 0})}).code, "ir.run.race");
}

}  // namespace
}  // namespace tilewright::ir
