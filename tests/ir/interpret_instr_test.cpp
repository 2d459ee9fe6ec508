// SPDX-License-Identifier: Apache-2.0
#include "run_text.h"

namespace tilewright::ir {
namespace {

const std::string kDot = R"(
  instr dot(a: in f32[2], b: in f32[2], c: inout f32[]) {
    compute { c[] = 0.0
              for i in 0..2 { c[] sum= a[i] * b[i] } }
    reset { c[] = 0.0 }
    update { for i in 0..2 { c[] sum= a[i] * b[i] } }
  }
)";

std::vector<Array> arrays() {
  return {array_of(Elem::F32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), f32s({1, 1, 2, 2}), f32s({0, 0})};
}

TEST(InterpretInstr, RunsTheBodyOnTheRegions) {
  EXPECT_EQ(result_of(kDot + R"(
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      for r in 0..2 {
        call dot.reset(A[r, 0..2], B[0..2], C[r])
        for k in 0..2 { call dot.update(A[r, k * 2 +: 2], B[k * 2 +: 2], C[r]) }
      }
    })",
                      arrays()),
            (std::vector<double>{17, 41}));
}

TEST(InterpretInstr, LeavesOutDimensionsOfExtentOne) {
  EXPECT_EQ(result_of(R"(
    instr column(src: in f32[2], dst: out f32[2]) { compute { for i in 0..2 { dst[i] = src[i] } } }
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      call column(A[0..2, 3], C[0..2])
    })",
                      arrays()),
            (std::vector<double>{4, 8}));
}

TEST(InterpretInstr, OfSeveralDimensionsOfExtentOneThoseThatFitStay) {
  EXPECT_EQ(result_of(R"(
    instr row(src: in f32[1, 2], dst: out f32[2]) { compute { for i in 0..2 { dst[i] = src[0, i] } } }
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      alloc T: f32[1, 2, 1]
      for i in 0..2 { T[0, i, 0] = A[1, i] }
      call row(T[0, 0..2, 0], C[0..2])
    })",
                      arrays()),
            (std::vector<double>{5, 6}));
}

TEST(InterpretInstr, FollowsStridesAtStageFinal) {
  // Rows of A are 4 apart; the operand's layout puts columns first.
  EXPECT_EQ(result_of(R"(
    instr cut(src: in f32[2, 2] layout (i, j) -> [address: j, address: i] extents [2, 2], dst: out f32[4]) {
      compute { for i in 0..2 { for j in 0..2 { dst[i * 2 + j] = src[i, j] } } }
    }
    loops f(A: in f32[8], C: out f32[8]) stage final {
      call cut(A[1 +: 6], C[0 +: 7]) strides ([1, 4], [2])
      call cut(A[2 +: 6], C[1 +: 7]) strides ([1, 4], [2])
    })",
                      {f32s({1, 2, 3, 4, 5, 6, 7, 8}), f32s({0, 0, 0, 0, 0, 0, 0, 0})}),
            (std::vector<double>{2, 3, 3, 4, 6, 7, 7, 8}));
}

TEST(InterpretInstr, ReportsAStrideThatLeavesTheBuffer) {
  const Diagnostic d = error_of(R"(
    instr pair(src: in f32[2], dst: out f32[2]) { compute { for i in 0..2 { dst[i] = src[i] } } }
    loops f(A: in f32[4], C: out f32[2]) stage final {
      call pair(A[0 +: 4], C[0 +: 2]) strides ([4], [1])
    })",
                                {f32s({1, 2, 3, 4}), f32s({0, 0})});
  EXPECT_EQ(d.code, "ir.run.bounds");
}

TEST(InterpretInstr, ReportsARegionOfAnotherShape) {
  const Diagnostic d = error_of(kDot + R"(
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      call dot(A[0, 0..3], B[0..2], C[0])
    })",
                                arrays());
  EXPECT_EQ(d.code, "ir.run.instr");
  EXPECT_EQ(d.at.line, 10);
  EXPECT_TELLS(d, "`A`");
  EXPECT_TELLS(d, "operand `a`");
}

TEST(InterpretInstr, ReportsASymbolicRegionOfAnotherShape) {
  const Diagnostic d = error_of(kDot + R"(
    loops f(A: in f32[2, 4], B: in f32[4], C: inout f32[2]) where n in 1..4 stage scheduled {
      call dot(A[0, 0 +: n], B[0..2], C[0])
    })",
                                arrays(), {3});
  EXPECT_EQ(d.code, "ir.run.instr");
  EXPECT_TELLS(d, "region of 3 elements");
}

TEST(InterpretInstr, ReportsAnAccessOutsideOfAnOperand) {
  const Diagnostic d = error_of(R"(
    instr shift(src: in f32[2], dst: out f32[2]) { compute { for i in 0..2 { dst[i] = src[i + 1] } } }
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      call shift(B[0..2], C[0..2])
    })",
                                arrays());
  EXPECT_EQ(d.code, "ir.run.bounds");
  EXPECT_TELLS(d, "index 2 is outside of operand `src`");
}

TEST(InterpretInstr, ReportsARegionOutsideOfItsBuffer) {
  EXPECT_EQ(error_of(kDot + R"(
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      call dot(A[0, 3 +: 2], B[0..2], C[0])
    })",
                     arrays())
                .code,
            "ir.run.bounds");
}

TEST(InterpretInstr, WritesNoInputOperand) {
  const Diagnostic d = error_of(R"(
    instr bad(src: in f32[2], dst: out f32[2]) { compute { for i in 0..2 { src[i] = 0.0 } } }
    loops f(A: in f32[2, 4], B: inout f32[4], C: inout f32[2]) stage scheduled {
      call bad(B[0..2], C[0..2])
    })",
                                arrays());
  EXPECT_EQ(d.code, "ir.run.input");
  EXPECT_TELLS(d, "`src`");
}

TEST(InterpretInstr, BlocksInTheBodyRunOncePerCall) {
  EXPECT_EQ(result_of(R"(
    instr fill(dst: out f32[2]) {
      compute { for i in 0..2 { block b(v: spatial 2 = i) writes dst[v] { dst[v] = f32(v) } } }
    }
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      call fill(C[0..2])
      call fill(C[0..2])
    })",
                      arrays()),
            (std::vector<double>{0, 1}));
}

TEST(InterpretInstr, CountsItsAccessesInTheBlockAround) {
  const Diagnostic d = error_of(kDot + R"(
    loops f(A: in f32[2, 4], B: in f32[4], C: out f32[2]) stage scheduled {
      for r in 0..2 {
        block b(v: spatial 2 = r) reads A[v, 0..2], B[0] writes C[v] {
          call dot(A[v, 0..2], B[0..2], C[v])
        }
      }
    })",
                                arrays());
  EXPECT_EQ(d.code, "ir.run.region");
  EXPECT_TELLS(d, "`B[1]`");
}

}  // namespace
}  // namespace tilewright::ir
