// SPDX-License-Identifier: Apache-2.0
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

/// A tile of B is made in each iteration of `i_0`, from what two neighbours share.
Schedule tiled_blur() {
  Schedule s(blur());
  const auto [i0, i1] = s.split<2>(s.loops("C")[0], {kOpen, 4});
  s.compute_at(s.block("B"), i0);
  return s;
}

TEST(DoubleBuffer, GivesNeighbouringIterationsPlacesOfTheirOwn) {
  Schedule s = tiled_blur();
  s.double_buffer(s.loops("B")[0], "B");
  EXPECT_EQ(ir::print(s.func()), R"(loops blur(A: in f32[20], C: out f32[18]) stage scheduled {
  alloc B: f32[2, 6]
  for i_0 in 0..5 {
    for v in 0..6 {
      block B(v_1: spatial 20 = i_0 * 4 + v, vi_0: ordered 5 = i_0)
          where i_0 * 4 + v < 20
          reads A[v_1]
          writes B[vi_0 % 2, v_1 % 6] {
        B[vi_0 % 2, v_1 % 6] = A[v_1] * 2.0
      }
    }
    for i_1 in 0..4 {
      block C(v: spatial 18 = i_0 * 4 + i_1, vi_0: ordered 5 = i_0)
          where i_0 * 4 + i_1 < 18
          reads B[vi_0 % 2, 0..6]
          writes C[v] {
        C[v] = B[vi_0 % 2, v % 6] + B[vi_0 % 2, (v + 1) % 6] + B[vi_0 % 2, (v + 2) % 6]
      }
    }
  }
}
)");
  expect_same(blur(), s);
}

TEST(DoubleBuffer, LeavesTheOtherBuffersOfAnIterationInIt) {
  const ir::LoopFunc f = matmul(10, 12, 7);
  Schedule s(f);
  const BlockRef c = s.block("C");
  const BlockRef a = s.cache_read(c, "A", ir::ScopeKind::Shared);
  const BlockRef b = s.cache_read(c, "B", ir::ScopeKind::Shared);
  const auto loops = s.loops(c);
  const auto [k0, k1] = s.split<2>(loops[2], {kOpen, 3});
  s.reorder({k0, loops[0], loops[1], k1});
  s.compute_at(a, k0);
  s.compute_at(b, k0);
  s.double_buffer(k0, "A_shared");
  expect_same(f, s);
  s.double_buffer(k0, "B_shared");
  expect_same(f, s);
  EXPECT_NE(ir::print(s.func()).find("alloc A_shared: f32[2, 10, 3]"), std::string::npos)
      << ir::print(s.func());
}

TEST(DoubleBuffer, KeepsALayoutAndItsShape) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops lay(A: in f32[12], C: out f32[12]) stage scheduled {
  for i in 0..3 {
    alloc B: f32[4] layout (x) -> [address: x ^ 1] extents [4]
    for j in 0..4 { B[j] = A[i * 4 + j] }
    for j in 0..4 { block C(v: spatial 12 = i * 4 + j) reads B[0..4] writes C[v] { C[v] = B[v % 4] } }
  }
})");
  Schedule s(f);
  s.double_buffer(s.loops("C")[0], "B");
  EXPECT_NE(ir::print(s.func()).find("layout (slot, x)"), std::string::npos) << ir::print(s.func());
  expect_same(f, s);
}

TEST(DoubleBuffer, Refuses) {
  Schedule s(matmul_relu());
  const LoopRef y = s.loops("C")[0];
  Diagnostic d = diagnostic_of([&] { s.double_buffer(y, "C"); });
  EXPECT_EQ(d.code, "schedule.double_buffer.buffer");
  EXPECT_NE(d.notes[0].find("allocates nothing"), std::string::npos);
  s.parallel(y);
  EXPECT_EQ(diagnostic_of([&] { s.double_buffer(y, "C"); }).code, "schedule.loop.kind");

  Schedule t(ir::parse_function(R"(
loops tri(A: in f32[8, 8], C: out f32[8]) {
  for i in 0..8 {
    alloc B: f32[i + 1]
    for j in 0..i + 1 { B[j] = A[i, j] }
    block C(v: spatial 8 = i) reads B[0..i + 1] writes C[v] { C[v] = B[0] } }
})"));
  d = diagnostic_of([&] { t.double_buffer(t.loops("C")[0], "B"); });
  EXPECT_EQ(d.code, "schedule.slots.shape");
  EXPECT_NE(d.notes[0].find("shape of `B`"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::schedule
