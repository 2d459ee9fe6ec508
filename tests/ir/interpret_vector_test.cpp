// SPDX-License-Identifier: Apache-2.0
#include "run_text.h"

namespace tilewright::ir {
namespace {

TEST(InterpretVector, WorksLaneByLane) {
  const std::string text = R"(
    loops f(A: in f32[8], C: out f32[8]) stage scheduled {
      let x = A[ramp(0, 2, 4)]
      C[ramp(0, 1, 4)] = x * broadcast(2.0, 4) + x
      C[ramp(7, -1, 4)] = select(x > broadcast(4.0, 4), x, -x)
    })";
  EXPECT_EQ(result_of(text, {f32s({1, 2, 3, 4, 5, 6, 7, 8}), f32s(std::vector<double>(8))}),
            (std::vector<double>{3, 9, 15, 21, 7, 5, -3, -1}));
}

TEST(InterpretVector, MixesScalarAndVectorIndices) {
  const std::string text = R"(
    loops f(A: in f32[2, 3], C: out f32[3]) stage scheduled {
      C[ramp(0, 1, 3)] = A[1, ramp(2, -1, 3)]
    })";
  EXPECT_EQ(result_of(text, {array_of(Elem::F32, {2, 3}, {1, 2, 3, 4, 5, 6}), f32s({0, 0, 0})}),
            (std::vector<double>{6, 5, 4}));
}

TEST(InterpretVector, LanesThatAreMaskedOffReadAndWriteNothing) {
  const std::string text = R"(
    loops f(A: in f32[3], C: inout f32[4]) stage scheduled {
      let m = ramp(0, 1, 4) < broadcast(3, 4)
      C[ramp(1, 1, 4)] mask(m) = A[ramp(0, 1, 4)] mask(m) + broadcast(1.0, 4)
    })";
  EXPECT_EQ(result_of(text, {f32s({1, 2, 3}), f32s({9, 9, 9, 9})}),
            (std::vector<double>{9, 2, 3, 4}));
}

TEST(InterpretVector, AMaskedOffLaneReadsZero) {
  const std::string text = R"(
    loops f(A: in f32[2], C: out f32[2]) stage scheduled {
      C[ramp(0, 1, 2)] = A[ramp(1, 1, 2)] mask(ramp(0, 1, 2) < broadcast(1, 2)) + broadcast(5.0, 2)
    })";
  EXPECT_EQ(result_of(text, {f32s({1, 2}), f32s({0, 0})}), (std::vector<double>{7, 5}));
}

TEST(InterpretVector, ReportsTheLaneThatIsOutOfRange) {
  const std::string text = R"(
    loops f(A: in f32[3], C: out f32[4]) stage scheduled {
      C[ramp(0, 1, 4)] = A[ramp(0, 1, 4)]
    })";
  const Diagnostic d = error_of(text, {f32s({1, 2, 3}), f32s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.bounds");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_TELLS(d, "in lane 3");
}

TEST(InterpretVector, TwoLanesOfAStoreMayNotNameOneElement) {
  const std::string text = R"(
    loops f(I: in i64[4], C: inout f32[4]) stage scheduled {
      C[I[ramp(0, 1, 4)]] = broadcast(1.0, 4)
    })";
  EXPECT_EQ(result_of(text, {i64s({3, 1, 0, 2}), f32s({0, 0, 0, 0})}),
            (std::vector<double>{1, 1, 1, 1}));
  const Diagnostic d = error_of(text, {i64s({3, 1, 3, 0}), f32s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.duplicate");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_TELLS(d, "`C[3]`");
}

TEST(InterpretVector, ReducesLanesInOrder) {
  const std::string text = R"(
    loops f(A: in f32[4], C: out f32[3]) stage scheduled {
      let x = A[ramp(0, 1, 4)]
      C[0] = reduce_add(x)
      C[1] = reduce_max(x)
      C[2] = f32(reduce_and(x > broadcast(0.0, 4)))
    })";
  // In order: ((2^24 + 1) + 1) + -2^24 = 0, since 1 is lost each time.
  EXPECT_EQ(result_of(text, {f32s({16777216, 1, 1, -16777216}), f32s({0, 0, 0})}),
            (std::vector<double>{0, 16777216, 0}));
}

TEST(InterpretVector, UpdatesLanes) {
  const std::string text = R"(
    reducer argmin(i: i64, x: f32 | j: i64, y: f32)
      = (select(y < x, j, i), min(x, y)) identity (0, inf:f32)
    loops f(A: in f32[2, 4], V: out f32[4], I: out i64[4]) stage scheduled {
      V[ramp(0, 1, 4)] = broadcast(inf:f32, 4)
      I[ramp(0, 1, 4)] = broadcast(-1, 4)
      for k in 0..2 {
        I[ramp(0, 1, 4)], V[ramp(0, 1, 4)] argmin= broadcast(k, 4), A[k, ramp(0, 1, 4)]
      }
    })";
  const Array a = array_of(Elem::F32, {2, 4}, {1, 5, 3, 4, 2, 4, 3, 1});
  EXPECT_EQ(result_of(text, {a, f32s({0, 0, 0, 0}), i64s({0, 0, 0, 0})}),
            (std::vector<double>{0, 1, 0, 1}));
}

TEST(InterpretVector, WrapsARampOfANarrowType) {
  const std::string text = R"(
    loops f(C: out i8[4]) stage scheduled {
      C[ramp(0, 1, 4)] = ramp(126:i8, 1:i8, 4)
    })";
  EXPECT_EQ(result_of(text, {array_of(Elem::I8, {4}, {0, 0, 0, 0})}),
            (std::vector<double>{126, 127, -128, -127}));
}

TEST(InterpretVector, ReadsNoLaneBeforeItIsWritten) {
  const std::string text = R"(
    loops f(C: out f32[4]) {
      alloc t: f32[4]
      for i in 0..3 { t[i] = 1.0 }
      C[ramp(0, 1, 4)] = t[ramp(0, 1, 4)]
    })";
  const Diagnostic d = error_of(text, {f32s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.uninitialised");
  EXPECT_TELLS(d, "`t[3]`");
}

}  // namespace
}  // namespace tilewright::ir
