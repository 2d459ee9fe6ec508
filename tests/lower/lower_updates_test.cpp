// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

constexpr const char* kArgmax = R"(
reducer argmax(i: i64, x: f32 | j: i64, y: f32)
  = (select(y > x || y == x && j < i, j, i), max(x, y)) identity (9223372036854775807, -inf:f32)
)";

TEST(LowerUpdates, OneOperatorBecomesOneStore) {
  expect_program(after(lower_updates, R"(
loops f(A: in f32[8], B: in f32[8], C: inout f32[]) {
  for i in 0..8 { C[] sum= A[i] * B[i] }
})"),
                 R"(
loops f(A: in f32[8], B: in f32[8], C: inout f32[]) {
  for i in 0..8 { C[] = C[] + A[i] * B[i] }
})");
}

TEST(LowerUpdates, VectorsToo) {
  expect_program(after(lower_updates, R"(
loops f(A: in f32[8], C: inout f32[8]) stage scheduled {
  C[ramp(0, 1, 8)] max= A[ramp(0, 1, 8)]
})"),
                 R"(
loops f(A: in f32[8], C: inout f32[8]) stage scheduled {
  C[ramp(0, 1, 8)] = max(C[ramp(0, 1, 8)], A[ramp(0, 1, 8)])
})");
}

TEST(LowerUpdates, LeavesOutTermsThatChangeNothing) {
  expect_program(after(lower_updates, R"(
loops f(A: in f32[8], C: inout f32[8], P: inout f32[]) stage scheduled {
  for i in 0..8 { for r in 0..3 { C[i] sum= guard(i + r < 8, A[i + r], 0.0) } }
  C[ramp(0, 1, 8)] sum= broadcast(0.0, 8)
  for i in 0..8 { P[] prod= guard(i < 4, A[i], 0.0) }
})"),
                 R"(
loops f(A: in f32[8], C: inout f32[8], P: inout f32[]) stage scheduled {
  for i in 0..8 { for r in 0..3 { if i + r < 8 { C[i] = C[i] + A[i + r] } } }
  for i in 0..8 { P[] = P[] * guard(i < 4, A[i], 0.0) }
})");
}

TEST(LowerUpdates, AMaximumOfOneTermIsThatTerm) {
  const auto stays = [](const char* text) {
    const std::string now = ir::print(after(lower_updates, text));
    EXPECT_NE(now.find("max("), std::string::npos) << now;
  };
  expect_program(after(lower_updates, R"(
loops f(A: in f32[8], C: out f32[4], D: out f32[2]) stage scheduled {
  for i in 0..2 {
    D[i] = 1.0
    C[i] = -inf:f32
    C[i] max= reduce_max(A[ramp(i * 4, 1, 4)])
    C[i] max= D[i]
    C[i + 2] = inf:f32
    C[i + 2] min= D[i]
    D[i] = 0.0
    D[i] sum= C[i]
  }
})"),
                 R"(
loops f(A: in f32[8], C: out f32[4], D: out f32[2]) stage scheduled {
  for i in 0..2 {
    D[i] = 1.0
    C[i] = reduce_max(A[ramp(i * 4, 1, 4)])
    C[i] = max(C[i], D[i])
    C[i + 2] = D[i]
    D[i] = 0.0
    D[i] = D[i] + C[i]
  }
})");
  stays("loops f(A: in f32[8], C: inout f32[8]) { C[0] = -inf:f32 C[1] max= A[0] }");
  stays("loops f(A: in f32[8], C: inout f32[8]) { C[0] = 0.0 C[0] max= A[0] }");
  stays("loops f(A: in f32[8], C: inout f32[8]) { C[0] = -inf:f32 C[0] max= C[0] + A[0] }");
  stays("loops f(A: in f32[8], C: inout f32[8]) { C[0] = -inf:f32 C[1] = A[0] C[0] max= A[0] }");
}

TEST(LowerUpdates, ATupleReadsAllBeforeItWrites) {
  const std::string text = std::string(kArgmax) + R"(
loops f(A: in f32[9], I: out i64[], X: out f32[]) {
  I[] = 9223372036854775807
  X[] = -inf:f32
  for k in 0..9 { I[], X[] argmax= k, A[k] * A[k] }
})";
  const ir::LoopFunc f = after(lower_updates, text);
  expect_program(f, R"(
loops f(A: in f32[9], I: out i64[], X: out f32[]) {
  I[] = 9223372036854775807
  X[] = -inf:f32
  for k in 0..9 {
    let i = I[]
    let j = k
    let x = X[]
    let y = A[k] * A[k]
    I[] = select(y > x || y == x && j < i, j, i)
    X[] = max(x, y)
  }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(LowerUpdates, RefusesBlocks) {
  const Diagnostic d = diagnostic_of([] {
    after(lower_updates, R"(loops f(C: out f32[4]) {
  for i in 0..4 {
    block c(v: spatial 4 = i) writes C[v] { C[v] = 1.0 } }
})");
  });
  EXPECT_EQ(d.code, "lower.pipeline.order");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_NE(d.notes[0].find("block `c`"), std::string::npos);
  EXPECT_NE(d.help.find("`lower_blocks`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::lower
