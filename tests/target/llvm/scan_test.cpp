// SPDX-License-Identifier: Apache-2.0
// Register tiles stay in registers, and the scan sees it when they do not.
#include "target/llvm/scan.h"

#include <algorithm>

#include "gtest/gtest.h"

#include "support/str.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

/// The loop with the most vector instructions: the one over k.
HotLoop hottest(const MatmulShape& shape, const char* target) {
  const ir::TargetSpec spec = parse_target(target);
  const std::vector<HotLoop> loops = scan_hot_loops(emit_object(matmul(shape), spec).code, spec);
  return *std::max_element(loops.begin(), loops.end(), [](const HotLoop& a, const HotLoop& b) {
    return a.vector_instructions < b.vector_instructions;
  });
}

MatmulShape tile(int64_t m, int64_t n, int lanes, int64_t unroll) {
  return {
      .m = 4 * m, .n = 4 * n, .k = 64, .tile_m = m, .tile_n = n, .lanes = lanes, .unroll = unroll};
}

TEST(Scan, RegisterTilesDoNotSpill) {
  struct Case {
    const char* target;
    int64_t m, n;
    int lanes;
  };
  for (const Case& c :
       {Case{"x86-64-v4", 14, 32, 16}, Case{"x86-64-v4", 12, 32, 16}, Case{"x86-64-v4", 8, 48, 16},
        Case{"x86-64-v4", 6, 64, 16}, Case{"x86-64-v4", 28, 16, 16}, Case{"x86-64-v3", 6, 16, 8},
        Case{"x86-64-v3", 4, 24, 8}, Case{"aarch64", 8, 12, 4}})
    for (const int64_t unroll : {1, 4}) {
      SCOPED_TRACE(str(c.m, "x", c.n, " unrolled by ", unroll, " for ", c.target));
      const HotLoop loop = hottest(tile(c.m, c.n, c.lanes, unroll), c.target);
      EXPECT_EQ(loop.vector_stack_accesses, 0);
      EXPECT_EQ(loop.vector_moves, 0);
      EXPECT_EQ(loop.calls, 0);
      EXPECT_GE(loop.vector_instructions,
                unroll * c.m * c.n / c.lanes);  // one FMA each, and the loads
    }
}

TEST(Scan, TooManyAccumulatorsAreSeenToSpill) {
  EXPECT_GT(hottest(tile(20, 32, 16, 1), "x86-64-v4").vector_stack_accesses, 5);
  EXPECT_GT(hottest(tile(10, 16, 8, 1), "x86-64-v3").vector_stack_accesses, 5);
}

TEST(Scan, NamesTheFunctionAndItsBytes) {
  const HotLoop loop = hottest(tile(6, 16, 8, 1), "x86-64-v3");
  EXPECT_EQ(loop.function, "matmul");
  EXPECT_GT(loop.bytes(), 12 * 4);
  EXPECT_LT(loop.bytes(), 400);
}

}  // namespace
}  // namespace tilewright::target::llvm
