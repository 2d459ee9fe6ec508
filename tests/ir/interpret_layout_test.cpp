// SPDX-License-Identifier: Apache-2.0
#include "run_text.h"

namespace tilewright::ir {
namespace {

TEST(InterpretLayout, DoesNotChangeWhatAProgramComputes) {
  EXPECT_EQ(result_of(R"(
    loops f(A: in f32[16], C: out f32[16]) stage scheduled {
      alloc t: f32[4, 4] layout (i, j) -> [address: i, address: (j ^ i) % 4] extents [4, 4]
      for i in 0..4 { for j in 0..4 { t[i, j] = A[i * 4 + j] } }
      for i in 0..4 { for j in 0..4 { C[i * 4 + j] = t[j, i] } }
    })",
                      {f32s({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
                       f32s(std::vector<double>(16))}),
            (std::vector<double>{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}));
}

TEST(InterpretLayout, ReportsTwoElementsInOnePlace) {
  const Diagnostic d = error_of(R"(
    loops f() stage scheduled {
      alloc t: f32[4, 4] layout (i, j) -> [address: i / 2, address: j] extents [2, 4]
    })");
  EXPECT_EQ(d.code, "ir.run.layout");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_TELLS(d, "[0, 0] and [1, 0] share the place [0, 0]");
}

TEST(InterpretLayout, ReportsReplicasInOnePlace) {
  EXPECT_EQ(error_of(R"(
    loops f() stage scheduled {
      alloc t: f32[4] layout (i; r in 0..2) -> [address: i + r] extents [5]
    })")
                .code,
            "ir.run.layout");
}

TEST(InterpretLayout, ReportsAPlaceOutsideOfTheExtents) {
  const Diagnostic d = error_of(R"(
    loops f() stage scheduled {
      alloc t: f32[4] layout (i) -> [address: i * 2] extents [7]
      alloc u: f32[4] layout (i) -> [address: i * 2] extents [6]
    })");
  EXPECT_EQ(d.code, "ir.run.layout");
  EXPECT_EQ(d.at.line, 4);
}

/// A fragment of 8 elements in 4 lanes of 2 registers; each thread writes and reads its own.
std::string fragment(
    const std::string& mine,
    const std::string& layout = "layout (i) -> [lane: i / 2, register: i % 2] extents [4, 2]") {
  return R"(
    loops f(A: in f32[8], C: out f32[8]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..4 {
          alloc g: f32[8] register )" +
         layout + R"(
          for r in 0..2 { g[t * 2 + r] = A[t * 2 + r] }
          for r in 0..2 { C[t * 2 + r] = g[)" +
         mine + R"(] }
        }
      }
    })";
}
std::vector<Array> arrays() {
  return {f32s({1, 2, 3, 4, 5, 6, 7, 8}), f32s(std::vector<double>(8))};
}

TEST(InterpretLayout, LanesAreTheThreadsOfTheBlock) {
  EXPECT_EQ(result_in_any_order(fragment("t * 2 + 1 - r"), arrays()),
            (std::vector<double>{2, 1, 4, 3, 6, 5, 8, 7}));
}

TEST(InterpretLayout, ReportsAnAccessToAnotherLane) {
  const Diagnostic d = error_in_any_order(fragment("(t * 2 + 2 + r) % 8"), arrays());
  EXPECT_EQ(d.code, "ir.run.lane");
  EXPECT_EQ(d.at.line, 7);
  EXPECT_TELLS(d, "`g[2]`");
  EXPECT_TELLS(d, "it lies in lane 1");
  EXPECT_TELLS(d, "made by lane 0");
}

TEST(InterpretLayout, AnInstructionReachesAllLanes) {
  EXPECT_EQ(result_in_any_order(R"(
    instr reverse(g: inout f32[4] register layout (i) -> [lane: i] extents [4]) {
      compute { let x = g[0]
                g[0] = g[3]
                g[3] = x }
    }
    loops f(A: in f32[4], C: out f32[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..4 {
          alloc g: f32[4] register layout (i) -> [lane: i] extents [4]
          g[t] = A[t]
          barrier block
          if t == 2 { call reverse(g[0..4]) }
          barrier block
          C[t] = g[t]
        }
      }
    })",
                                {f32s({1, 2, 3, 4}), f32s({0, 0, 0, 0})}),
            (std::vector<double>{4, 2, 3, 1}));
}

TEST(InterpretLayout, AStoreReachesAllReplicas) {
  const std::string two = R"(
    loops f(C: out f32[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..4 {
          alloc g: f32[2] register layout (i; r in 0..2) -> [lane: i * 2 + r] extents [4]
          g[t / 2] = 1.0
          C[t] = g[t / 2]
        }
      }
    })";
  const Diagnostic d = error_of(two, {f32s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.lane");
  EXPECT_TELLS(d, "lanes 0, 1");
  EXPECT_TELLS(d, "a store writes all replicas");
}

TEST(InterpretLayout, ALoadMayReadAnyReplica) {
  EXPECT_EQ(result_in_any_order(R"(
    instr set(g: out f32[2] register layout (i; r in 0..2) -> [lane: i * 2 + r] extents [4]) {
      compute { for i in 0..2 { g[i] = f32(i) } }
    }
    loops f(C: out f32[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..4 {
          alloc g: f32[2] register layout (i; r in 0..2) -> [lane: i * 2 + r] extents [4]
          if t == 0 { call set(g[0..2]) }
          barrier block
          C[t] = g[t / 2]
        }
      }
    })",
                                {f32s({0, 0, 0, 0})}),
            (std::vector<double>{0, 0, 1, 1}));
}

TEST(InterpretLayout, PackedNeighboursAreFoundInPhysicalOrder) {
  // Elements 0 and 4 share a byte; 0 and 1 do not.
  const auto halves = [](const std::string& part) {
    return R"(
    loops f(C: inout u4[8] layout (i) -> [address: i % 4 * 2 + i / 4] extents [8]) stage scheduled {
      parallel for h in 0..2 { for i in 0..4 { C[)" +
           part + R"(] = 3:u4 } }
    })";
  };
  EXPECT_EQ(result_in_any_order(halves("i / 2 * 4 + i % 2 + h * 2"), {make_array(Elem::U4, {8})}),
            std::vector<double>(8, 3));
  const Diagnostic d = error_in_any_order(halves("h * 4 + i"), {make_array(Elem::U4, {8})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "share a byte");
}

}  // namespace
}  // namespace tilewright::ir
