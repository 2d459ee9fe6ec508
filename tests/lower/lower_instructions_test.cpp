// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

constexpr const char* kOuter = R"(
instr outer(c: inout f32[2, 4], a: in f32[2], b: in f32[4]) emit "outer24" {
  compute { for y in 0..2 { for x in 0..4 { c[y, x] = a[y] * b[x] } } }
  update { for y in 0..2 { for x in 0..4 { c[y, x] sum= a[y] * b[x] } } }
}
loops f(A: in f32[6, 4], B: in f32[6, 8], C: out f32[4, 8]) stage scheduled {
  for i in 0..2 { for j in 0..2 {
    call outer(C[i*2 +: 2, j*4 +: 4], A[0, i*2 +: 2], B[0, j*4 +: 4])
    for k in 1..6 {
      call outer.update(C[i*2 +: 2, j*4 +: 4], A[k, i*2 +: 2], B[k, j*4 +: 4])
    }
  } }
})";

TEST(LowerInstructions, ACallBecomesItsMeaningOnTheRegions) {
  const ir::LoopFunc f = after(lower_instructions, kOuter);
  expect_program(f, R"(
loops f(A: in f32[6, 4], B: in f32[6, 8], C: out f32[4, 8]) stage scheduled {
  for i in 0..2 { for j in 0..2 {
    for y in 0..2 { for x in 0..4 { C[i*2 + y, j*4 + x] = A[0, i*2 + y] * B[0, j*4 + x] } }
    for k in 1..6 {
      for y in 0..2 { for x in 0..4 { C[i*2 + y, j*4 + x] sum= A[k, i*2 + y] * B[k, j*4 + x] } }
    }
  } }
})");
  expect_same(ir::parse_function(kOuter), f);
}

TEST(LowerInstructions, KeepsWhatTheTargetHas) {
  const ir::LoopFunc f =
      after({lower_instructions, flatten, simplify}, kOuter, {.instructions = {"outer24"}});
  std::string call;
  ir::walk(f.body, [&](const ir::InstrCall& c) {
    if (c.form == ir::InstrForm::Update) call = ir::print(ir::Stmt::of(c));
  });
  // Two rows of 8: from the first to the last element are 12.
  EXPECT_EQ(call,
            "call outer.update(C[i * 16 + j * 4 +: 12], A[i * 2 + k * 4 +: 2], B[j * 4 + k * 8 +: "
            "4]) strides ([8, 1], [1], [1])\n");
  expect_same(ir::parse_function(kOuter), f);
}

TEST(LowerInstructions, WritesOutACallOfStageFinal) {
  const ir::LoopFunc kept =
      after({lower_instructions, flatten, simplify}, kOuter, {.instructions = {"outer24"}});
  PassContext none;
  ir::LoopFunc scheduled = kept;
  scheduled.stage = ir::Stage::Scheduled;
  const ir::LoopFunc written = lower_instructions(scheduled, none);
  ir::walk(written.body, [](const ir::InstrCall&) { FAIL() << "a call is left"; });
  expect_same(ir::parse_function(kOuter), written);
}

}  // namespace
}  // namespace tilewright::lower
