// SPDX-License-Identifier: Apache-2.0
#include "tune/records/core.h"

#include <gtest/gtest.h>

#include "lower/to_blocks.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/measure/task.h"

namespace tilewright::tune {
namespace {

std::string workload_of(const char* text) {
  return make_task("t", lower::to_blocks(te::parse_program(text)), {"W"}, target::host_target())
      .workload;
}

const char* const kPlain =
    "te k(A: f32[8, 32], W: f32[32, 16]) {\n"
    "  C[y in 8, x in 16] = sum(k in 32) A[y, k] * W[k, x]\n  return C\n}";
const char* const kFused =  // of other sizes, with a stage before it and one behind it
    "te k(A: f32[20, 64], W: f32[64, 48], b: f32[48]) {\n"
    "  R[y in 20, k in 64] = max(A[y, k], 0.0)\n"
    "  C[i in 20, j in 48] = sum(m in 64) R[i, m] * W[m, j]\n"
    "  D[y in 20, x in 48] = C[y, x] + b[x]\n  return D\n}";
const char* const kTransposed =
    "te k(A: f32[8, 32], W: f32[16, 32]) {\n"
    "  C[y in 8, x in 16] = sum(k in 32) A[y, k] * W[x, k]\n  return C\n}";

TEST(Core, IsTheSameWhateverIsFusedToIt) {
  const Core plain = core_of(workload_of(kPlain)).value(),
             fused = core_of(workload_of(kFused)).value();
  EXPECT_EQ(plain.kind.text, fused.kind.text);
  EXPECT_EQ(plain.stage, "s0");
  EXPECT_EQ(fused.stage, "s1");
  EXPECT_EQ(plain.iters.size(), 3u);
  EXPECT_EQ(plain.buffers.size(), 3u);
  EXPECT_GT(distance(plain.kind, fused.kind), 0.9);
}

TEST(Core, DiffersWhereItReadsOtherwise) {
  const std::string text = core_of(workload_of(kPlain))->kind.text;
  EXPECT_NE(text, core_of(workload_of(kTransposed))->kind.text);
  // The factor is no constant.
  std::string other = workload_of(kPlain);
  other.erase(0, other.find('\n') + 1);
  EXPECT_NE(text, core_of(other)->kind.text);
}

TEST(Core, IsNothingWhereNothingIsReduced) {
  EXPECT_FALSE(core_of("no kernel"));
  EXPECT_FALSE(core_of(""));
  EXPECT_FALSE(core_of(workload_of("te k(A: f32[8]) {\n  B[i in 8] = A[i] + 1.0\n  return B\n}")));
}

TEST(Core, OfTheLargestReduction) {
  const Core core = core_of(workload_of("te k(A: f32[8, 32], W: f32[32, 16]) {\n"
                                        "  M[y in 8] = max(k in 32) A[y, k]\n"
                                        "  C[y in 8, x in 16] = sum(k in 32) A[y, k] * W[k, x]\n"
                                        "  D[y in 8, x in 16] = C[y, x] * M[y]\n  return D\n}"))
                        .value();
  EXPECT_EQ(core.kind.text, core_of(workload_of(kPlain))->kind.text);
}

TEST(Core, TakesItsKnobsToAnotherKernel) {
  const Core from = core_of(workload_of(kFused)).value(), to = core_of(workload_of(kPlain)).value();
  const std::string wide = from.iters.at(1), narrow = to.iters.at(1);
  // A knob of another stage stays behind; those of iterators and operands have their names here.
  EXPECT_EQ(for_core("s0.vectors=2 s1.tile=8x3 s1." + wide + "=2x4 s1.operand_" + from.buffers[2] +
                         "=packed",
                     from, to),
            "s0.tile=8x3 s0." + narrow + "=2x4 s0.operand_" + to.buffers[2] + "=packed");
  EXPECT_EQ(for_core("s1.inner=" + wide + " s1.place_s0=2 instruction.s1.tile=8x3", from, to),
            "s0.inner=" + narrow + " instruction.s0.tile=8x3");
  EXPECT_EQ(for_core("s0.vectors=2 instruction.s0.tile=2x2", from, to), "");
  EXPECT_EQ(for_core("s1 =s1. s1.=", from, to), "s0.=");
}

}  // namespace
}  // namespace tilewright::tune
