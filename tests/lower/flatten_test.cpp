// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

TEST(Flatten, RowMajorShapesBecomeAddresses) {
  const char* text = R"(
loops f(A: in f32[4, n], C: out f32[4, n]) where n in 0..100 stage scheduled {
  for i in 0..4 { for j in 0..n {
    alloc t: f32[2, 3] register
    t[1, 2] = A[i, j]
    C[i, j] = t[1, 2]
  } }
})";
  const ir::LoopFunc f = after(flatten, text);
  expect_program(f, R"(
loops f(A: in f32[4*n], C: out f32[4*n]) where n in 0..100 stage final {
  for i in 0..4 { for j in 0..n {
    alloc t: f32[6] register
    t[5] = A[i*n + j]
    C[i*n + j] = t[5]
  } }
})");
  for (int64_t n : {0, 5}) expect_same(ir::parse_function(text), f, {n});
}

TEST(Flatten, VectorIndicesStayRamps) {
  expect_program(after(flatten, R"(
loops f(A: in f32[4, 16], B: in f32[16, 4], C: out f32[4, 16]) stage scheduled {
  for i in 0..4 {
    C[i, ramp(0, 1, 16)] = A[i, ramp(0, 1, 16)] + B[ramp(0, 1, 16), i]
  }
})"),
                 R"(
loops f(A: in f32[64], B: in f32[64], C: out f32[64]) stage final {
  for i in 0..4 {
    C[ramp(i*16, 1, 16)] = A[ramp(i*16, 1, 16)] + B[ramp(i, 4, 16)]
  }
})");
}

TEST(Flatten, AppliesLayoutFunctions) {
  // NCHW4c of 6 channels: two blocks, the second half empty.
  const char* text = R"(
loops f(A: in f32[6, 5], C: out f32[6, 5]) stage scheduled {
  alloc t: f32[6, 5] layout (c, x) -> [address: c / 4, address: x, address: c % 4] extents [2, 5, 4]
  for c in 0..6 { for x in 0..5 { t[c, x] = A[c, x] * 2.0 } }
  for c in 0..6 { for x in 0..5 { C[c, x] = t[c, x] } }
})";
  const ir::LoopFunc f = after(flatten, text);
  expect_program(f, R"(
loops f(A: in f32[30], C: out f32[30]) stage final {
  alloc t: f32[40]
  for c in 0..6 { for x in 0..5 { t[(c / 4 * 5 + x)*4 + c % 4] = A[c*5 + x] * 2.0 } }
  for c in 0..6 { for x in 0..5 { C[c*5 + x] = t[(c / 4 * 5 + x)*4 + c % 4] } }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Flatten, FillsPaddingThatReadsAsZero) {
  expect_program(after(flatten, R"(
loops f(A: in f32[6]) stage scheduled {
  alloc t: f32[6] layout (i) -> [address: i] extents [8] pad zero
  alloc full: f32[6] layout (i) -> [address: i % 2, address: i / 2] extents [2, 3] pad zero
  for i in 0..6 { t[i] = A[i]  full[i] = A[i] }
})"),
                 R"(
loops f(A: in f32[6]) stage final {
  alloc t: f32[8]
  for p in 0..8 { t[p] = 0.0 }
  alloc full: f32[6]
  for i in 0..6 { t[i] = A[i]  full[i % 2 * 3 + i / 2] = A[i] }
})");
}

TEST(Flatten, AStoreWritesAllReplicas) {
  const char* text = R"(
loops f(A: in f32[3], C: out f32[3]) stage scheduled {
  alloc t: f32[3] layout (i; r in 0..2) -> [address: r, address: i] extents [2, 3]
  for i in 0..3 { t[i] = A[i] }
  for i in 0..3 { C[i] = t[i] }
})";
  const ir::LoopFunc f = after(flatten, text);
  expect_program(f, R"(
loops f(A: in f32[3], C: out f32[3]) stage final {
  alloc t: f32[6]
  for i in 0..3 {
    let v = A[i]
    t[i] = v
    t[3 + i] = v
  }
  for i in 0..3 { C[i] = t[i] }
})");
  expect_same(ir::parse_function(text), f);
}

TEST(Flatten, RefusesLayoutsOverThreads) {
  const Diagnostic d = diagnostic_of([] {
    after(flatten, R"(loops f(A: in f32[32]) stage scheduled {
  bind(thread.x) for t in 0..32 {
    alloc frag: f32[32] register layout (i) -> [lane: i] extents [32]
    frag[t] = A[t]
  }
})");
  });
  EXPECT_EQ(d.code, "lower.flatten.lane");
  EXPECT_EQ(d.at.line, 3);
  EXPECT_NE(d.message.find("`frag`"), std::string::npos);
}

TEST(Flatten, AnOperandsStridesFollowBothLayouts) {
  // The operand wants columns of pairs of rows; the buffer keeps them that way.
  const char* text = R"(
instr pairs(c: out f32[4, 2], b: in f32[2, 4] layout (k, n) -> [address: n, address: k] extents [4, 2]) emit "pairs" {
  compute { for n in 0..4 { for k in 0..2 { c[n, k] = b[k, n] } } }
}
loops f(B: in f32[6, 8] layout (k, n) -> [address: k / 2, address: n, address: k % 2] extents [3, 8, 2], C: out f32[3, 8, 2])
  stage scheduled {
  for i in 0..3 { for j in 0..2 { call pairs(C[i, j*4 +: 4, 0..2], B[i*2 +: 2, j*4 +: 4]) } }
})";
  const ir::LoopFunc f = after({flatten, simplify}, text);
  std::string call;
  ir::walk(f.body, [&](const ir::InstrCall& c) { call = ir::print(ir::Stmt::of(c)); });
  EXPECT_EQ(
      call,
      "call pairs(C[i * 16 + j * 8 +: 8], B[i * 16 + j * 8 +: 8]) strides ([2, 1], [2, 1])\n");
  // Parameters of stage final are flat arrays: fill the one with layout by hand.
  ir::Array in = ir::random_array(ir::Elem::F32, {48}, 5, ir::Arithmetic::Ieee);
  std::vector<ir::Array> args{in, ir::random_array(ir::Elem::F32, {48}, 6, ir::Arithmetic::Ieee)};
  ir::interpret(f, args, {}, {});
  EXPECT_TRUE(ir::same_bits(args[1], in));
}

TEST(Flatten, NamesTheAxisThatIsNotEvenlyApart) {
  const Diagnostic d = diagnostic_of([] {
    after(flatten, R"(
instr row(c: out f32[4], b: in f32[4]) { compute { for n in 0..4 { c[n] = b[n] } } }
loops f(B: in f32[8] layout (n) -> [address: n % 2, address: n / 2] extents [2, 4], C: out f32[8]) stage scheduled {
  for j in 0..2 { call row(C[j*4 +: 4], B[j*4 +: 4]) }
})");
  });
  EXPECT_EQ(d.code, "lower.flatten.operand");
  EXPECT_EQ(d.at.line, 4);
  EXPECT_NE(d.message.find("operand `b` of instruction `row` cannot lie in `B`"),
            std::string::npos);
  EXPECT_NE(d.notes.at(0).find("axis 0"), std::string::npos) << d.notes.at(0);
}

TEST(Flatten, AnOperandMustStartAtAWholePiece) {
  const Diagnostic d = diagnostic_of([] {
    after(flatten, R"(
instr row(c: out f32[2], b: in f32[2]) { compute { for n in 0..2 { c[n] = b[n] } } }
loops f(B: in f32[8] layout (n) -> [address: n / 2, address: n % 2] extents [4, 3], C: out f32[8]) stage scheduled {
  for j in 0..7 { call row(C[j +: 2], B[j +: 2]) }
})");
  });
  EXPECT_EQ(d.code, "lower.flatten.operand");
}

TEST(Flatten, RefusesUpdates) {
  const Diagnostic d = diagnostic_of([] {
    after(flatten, R"(loops f(C: inout f32[2, 2]) stage scheduled {
  C[0, 0] sum= 1.0
})");
  });
  EXPECT_EQ(d.code, "lower.pipeline.order");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_NE(d.help.find("`lower_updates`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::lower
