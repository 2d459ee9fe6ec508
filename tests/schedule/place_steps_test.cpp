// SPDX-License-Identifier: Apache-2.0
// compute_root, store_at, rolling_buffer.
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

/// Two rows of a stencil over a pointwise stage, with columns.
ir::LoopFunc rows() {
  return ir::parse_function(R"(
loops rows(A: in f32[11, 5], C: out f32[9, 5]) {
  alloc B: f32[11, 5]
  for i in 0..11 { for j in 0..5 {
    block B(v: spatial 11 = i, w: spatial 5 = j) reads A[v, w] writes B[v, w] {
      B[v, w] = A[v, w] * 2.0 } } }
  for i in 0..9 { for j in 0..5 {
    block C(v: spatial 9 = i, w: spatial 5 = j) reads B[v +: 3, w] writes C[v, w] {
      C[v, w] = B[v, w] + B[v + 1, w] * 3.0 + B[v + 2, w] } } }
})");
}

TEST(ComputeRoot, UndoesComputeAt) {
  Schedule s(blur());
  const BlockRef b = s.block("B");
  s.compute_at(b, s.loops("C")[0]);
  s.compute_root(b);
  expect_same(blur(), s);
  expect_text(s.func(), R"(
loops blur(A: in f32[20], C: out f32[18]) stage scheduled {
  alloc B: f32[20]
  for v in 0..20 {
    block B(v1: spatial 20 = v) reads A[v1] writes B[v1] { B[v1] = A[v1] * 2.0 } }
  for i in 0..18 {
    block C(v: spatial 18 = i) reads B[v +: 3] writes C[v] {
      C[v] = B[v] + B[v + 1] + B[v + 2] } }
})");
  s.compute_root(b);  // it is there already
  expect_same(blur(), s);
}

TEST(ComputeRoot, ComputesAReductionAsAWhole) {
  Schedule s(matmul_relu());
  const BlockRef c = s.block("C");
  const auto [y, x] = s.loops<2>("D");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 4});
  s.compute_at(c, y0);
  s.compute_root(c);
  expect_same(matmul_relu(), s);
  s.parallel(y0);
  expect_same(matmul_relu(), s);
}

TEST(ComputeRoot, RefusesResultsPartsAndInputsThatAreNotThere) {
  Schedule s(matmul_relu());
  s.merge(s.loops("C")[0], s.loops("D")[0]);
  expect_refused([&] { s.compute_root(s.block("D")); }, "schedule.compute_root.output",
                 "`D` is a result of the function");
  const auto loops = s.loops("C");
  s.decompose_reduction(s.block("C"), loops[2]);
  expect_refused([&] { s.compute_root(s.block("C")); }, "schedule.compute_root.init",
                 "starts elsewhere");
  expect_refused([&] { s.compute_root(s.block("C_init")); }, "schedule.compute_root.writer",
                 "written by block `C`");

  Schedule t(ir::parse_function(R"(
loops chain(A: in f32[8], D: out f32[8]) {
  alloc B: f32[8]
  alloc C: f32[8]
  for i in 0..8 {
    block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 }
    block C(v: spatial 8 = i) reads B[v] writes C[v] { C[v] = B[v] + 1.0 }
    block D(v: spatial 8 = i) reads C[v] writes D[v] { D[v] = C[v] * C[v] } }
})"));
  expect_refused([&] { t.compute_root(t.block("C")); }, "schedule.compute_root.input",
                 "`B`, which it reads, is written by block `B`");
  t.compute_root(t.block("B"));
  t.compute_root(t.block("C"));
  t.parallel(t.loops("D")[0]);
}

TEST(ComputeRoot, RefusesADomainThatReadsOutside) {
  // Only the first 4 of 8 instances run, and only those are valid.
  Schedule s(ir::parse_function(R"(
loops part(A: in f32[4], C: out f32[4]) {
  alloc B: f32[8]
  for i in 0..4 {
    block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 }
    block C(v: spatial 4 = i) reads B[v] writes C[v] { C[v] = B[v] } }
})"));
  expect_refused([&] { s.compute_root(s.block("B")); }, "schedule.compute_root.range",
                 "may lie outside of dimension 0");
}

TEST(ComputeRoot, RefusesMemoryOfThreads) {
  Schedule s(blur());
  const BlockRef b = s.block("B");
  const LoopRef i = s.loops("C")[0];
  s.compute_at(b, i);
  s.set_scope(b, "B", ir::ScopeKind::Register);
  s.parallel(i);
  expect_refused([&] { s.compute_root(b); }, "schedule.compute_root.threads", "register memory");
}

TEST(StoreAt, MovesTheAllocationIntoALoopAndOut) {
  const ir::LoopFunc before = blur();
  Schedule s(before);
  const BlockRef b = s.block("B");
  const auto [i0, i1] = s.split<2>(s.loops("C")[0], {kOpen, 6});
  s.compute_at(b, i1);  // and the buffer with it
  s.store_at(b, i0);
  expect_same(before, s);
  expect_text(s.func(), R"(
loops blur(A: in f32[20], C: out f32[18]) stage scheduled {
  for i_0 in 0..3 {
    alloc B: f32[20]
    for i_1 in 0..6 {
      for v in 0..3 {
        block B(w: spatial 20 = i_0 * 6 + i_1 + v) reads A[w] writes B[w] { B[w] = A[w] * 2.0 } }
      block C(v: spatial 18 = i_0 * 6 + i_1) reads B[v +: 3] writes C[v] {
        C[v] = B[v] + B[v + 1] + B[v + 2] } } }
})");
  s.store_at(b, i1);
  expect_same(before, s);
  s.parallel(i1);  // each iteration has a buffer of its own
  expect_refused([&] { s.store_at(b, i0); }, "schedule.store_at.threads",
                 "`i_1`, which is parallel, would share it");
}

TEST(StoreAt, RefusesWhatIterationsHandOn) {
  Schedule s(matmul_relu());
  const LoopRef y = s.loops("C")[0];
  expect_refused([&] { s.store_at(s.block("C"), y); }, "schedule.store_at.use",
                 "block `D` uses it outside of `y`");
  expect_refused([&] { s.store_at(s.block("D"), s.loops("D")[0]); }, "schedule.store_at.param",
                 "parameter");

  // A sum that goes on from one iteration of k0 to the next.
  Schedule t(ir::parse_function(R"(
loops running(A: in f32[4, 6], D: out f32[4, 3]) {
  alloc C: f32[3]
  for k0 in 0..4 {
    for y in 0..3 { for k1 in 0..2 {
      block C(vy: spatial 3 = y, vk: reduce 8 = k0 * 2 + k1)
        reads A[vk / 2, vy * 2 + vk % 2] writes C[vy] {
        init { C[vy] = 0.0 }
        C[vy] sum= A[vk / 2, vy * 2 + vk % 2] } } }
    for y in 0..3 {
      block D(vk: spatial 4 = k0, vy: spatial 3 = y) reads C[vy] writes D[vk, vy] {
        D[vk, vy] = C[vy] } } }
})"));
  expect_refused([&] { t.store_at(t.block("C"), t.loops("C")[0]); }, "schedule.store_at.flow",
                 "block `C` adds to C[0..3]");

  // Each iteration reads what the one before wrote.
  Schedule u(ir::parse_function(R"(
loops behind(A: in f32[8], C: out f32[7]) {
  alloc B: f32[8]
  for i in 0..8 {
    block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] }
    block C(v: spatial 7 = i - 1) where i >= 1 reads B[v] writes C[v] { C[v] = B[v] } }
})"));
  expect_refused([&] { u.store_at(u.block("B"), u.loops("B")[0]); }, "schedule.store_at.flow",
                 "not known to be written before in the same iteration");
}

TEST(StoreAt, RefusesSharedMemoryInsideOfThreads) {
  const ir::LoopFunc f = matmul(8, 8, 4);
  Schedule s(f);
  const BlockRef c = s.block("C");
  s.reverse_compute_at(s.cache_write(c, "C", ir::ScopeKind::Shared), s.loops(c)[0]);
  const LoopRef y = s.loops(c)[0];
  s.parallel(y);
  s.store_at(c, y);  // it lives there already
  Schedule t(ir::parse_function(R"(
loops two(A: in f32[8], C: out f32[8]) stage scheduled {
  alloc B: f32[8] shared
  bind(thread.x) for i in 0..8 {
    block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] }
    block C(v: spatial 8 = i) reads B[v] writes C[v] { C[v] = B[v] } }
})"));
  expect_refused([&] { t.store_at(t.block("B"), t.loops("B")[0]); }, "schedule.store_at.threads",
                 "shared memory");
}

TEST(RollingBuffer, ComputesOnlyNewRows) {
  Schedule s(rows());
  const BlockRef b = s.block("B");
  const LoopRef i = s.loops("C")[0];
  s.compute_at(b, i);
  s.rolling_buffer(b, i);
  expect_same(rows(), s);
  expect_text(s.func(), R"(
loops rows(A: in f32[11, 5], C: out f32[9, 5]) stage scheduled {
  alloc B: f32[3, 5]
  for i in 0..9 {
    for v in 0..3 { for w in 0..5 {
      block B(v1: ordered 11 = i + v, w1: spatial 5 = w)
        where i <= 0 || i + 2 <= v1 reads A[v1, w1] writes B[v1 % 3, w1] {
        B[v1 % 3, w1] = A[v1, w1] * 2.0 } } }
    for j in 0..5 {
      block C(v: spatial 9 = i, w: spatial 5 = j) reads B[0..3, w] writes C[v, w] {
        C[v, w] = B[v % 3, w] + B[(v + 1) % 3, w] * 3.0 + B[(v + 2) % 3, w] } } }
})");
  // The rows are handed on: iterations must stay in order, columns need not.
  expect_refused([&] { s.parallel(i); }, "schedule.loop.dependence", "`B`");
  s.parallel(s.loops(b)[2]);
  expect_same(rows(), s);
}

TEST(RollingBuffer, RollsTilesOfRowsInsideOfTilesOfColumns) {
  Schedule s(rows());
  const BlockRef b = s.block("B");
  const auto loops = s.loops("C");
  const auto tiles = s.tile({loops[0], loops[1]}, {2, 2});
  s.reorder({tiles[1], tiles[0]});
  s.compute_at(b, tiles[0]);
  s.rolling_buffer(b, tiles[0]);  // windows of 4 rows that move by 2
  expect_same(rows(), s);
  s.parallel(tiles[1]);  // the ring starts anew in each column of tiles
  expect_same(rows(), s);
}

TEST(RollingBuffer, KeepsAReductionInARing) {
  // Each row of B is a sum; C reads two neighbours.
  const ir::LoopFunc f = ir::parse_function(R"(
loops sums(A: in f32[7, 4], C: out f32[6]) {
  alloc B: f32[7]
  for i in 0..7 { for k in 0..4 {
    block B(v: spatial 7 = i, vk: reduce 4 = k) reads A[v, vk] writes B[v] {
      init { B[v] = 0.0 }
      B[v] sum= A[v, vk] } } }
  for i in 0..6 {
    block C(v: spatial 6 = i) reads B[v +: 2] writes C[v] { C[v] = B[v] * B[v + 1] } }
})");
  Schedule s(f);
  const BlockRef b = s.block("B");
  const LoopRef i = s.loops("C")[0];
  s.compute_at(b, i);
  s.rolling_buffer(b, i);
  expect_same(f, s);
  expect_refused([&] { s.decompose_reduction(b, s.loops(b)[1]); }, "schedule.decompose.order",
                 "runs in order");
  expect_refused([&] { s.rfactor(b, s.loops(b)[2]); }, "schedule.rfactor.loop", "is ordered");
  s.decompose_reduction(b, s.loops(b)[2]);
  expect_same(f, s);
}

TEST(RollingBuffer, RollsSymbolicSizes) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops sums(A: in f32[n + 2], C: out f32[n]) where n in 1..64 {
  alloc B: f32[n + 2]
  for i in 0..n + 2 {
    block B(v: spatial n + 2 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..n {
    block C(v: spatial n = i) reads B[v +: 3] writes C[v] {
      C[v] = B[v] * B[v + 1] + B[v + 2] } }
})");
  Schedule s(f);
  const BlockRef b = s.block("B");
  const auto [i0, i1] = s.split<2>(s.loops("C")[0], {kOpen, 4});
  s.compute_at(b, i0);
  s.rolling_buffer(b, i0);
  for (const int64_t n : {1, 3, 4, 5, 8, 13}) expect_same_at(f, s.func(), n, {{n + 2}, {n}});
  Schedule t(f);
  t.compute_at(t.block("B"), t.loops("C")[0]);
  t.compute_root(t.block("B"));
  for (const int64_t n : {1, 5}) expect_same_at(f, t.func(), n, {{n + 2}, {n}});
}

TEST(RollingBuffer, NeedsAWindowThatMovesAndOverlaps) {
  Schedule s(rows());
  const BlockRef b = s.block("B");
  const auto loops = s.loops("C");
  expect_refused([&] { s.rolling_buffer(b, loops[0]); }, "schedule.rolling_buffer.loop",
                 "does not stand around");
  s.reorder({loops[1], loops[0]});
  s.compute_at(b, loops[1]);
  expect_refused([&] { s.rolling_buffer(b, loops[1]); }, "schedule.rolling_buffer.reuse",
                 "iterations share no row");
  expect_refused([&] { s.rolling_buffer(s.block("C"), loops[1]); },
                 "schedule.rolling_buffer.buffer", "result of the function");
  s.vectorize(loops[1]);
  expect_refused([&] { s.rolling_buffer(b, loops[1]); }, "schedule.rolling_buffer.loop",
                 "`j` is vectorized");

  Schedule t(rows());
  const BlockRef c = t.block("B");
  const LoopRef i = t.loops("C")[0];
  t.compute_at(c, i);
  t.parallel(t.loops(c)[1]);
  expect_refused([&] { t.rolling_buffer(c, i); }, "schedule.rolling_buffer.loop",
                 "`v` is parallel");
}

TEST(RollingBuffer, RefusesReadsOutsideOfTheWindow) {
  // C reads a row that was computed two iterations ago: it is in the buffer, not in the window.
  const std::string head = R"(
loops far(A: in f32[12], C: out f32[8]) {
  alloc B: f32[12]
  for i in 0..8 {
    for r in 0..2 {
      block B(v: spatial 12 = i + r) reads A[v] writes B[v] { B[v] = A[v] } }
)";
  Schedule s(ir::parse_function(head + R"(
    block C(v: spatial 8 = i) where i >= 2 reads B[v - 2] writes C[v] { C[v] = B[v - 2] }
    block E(v: spatial 8 = i) where i < 2 writes C[v] { C[v] = 0.0 } } })"));
  expect_refused([&] { s.rolling_buffer(s.block("B"), s.loops("B")[0]); },
                 "schedule.rolling_buffer.read", "in the window i +: 2");
  // A reader that stands before the producer sees the ring of the iteration before.
  Schedule t(ir::parse_function(R"(
loops early(A: in f32[12], C: out f32[8]) {
  alloc B: f32[12]
  for i in 0..8 {
    block C(v: spatial 8 = i) where i >= 1 reads B[v] writes C[v] { C[v] = B[v] }
    block E(v: spatial 8 = i) where i < 1 writes C[v] { C[v] = 0.0 }
    for r in 0..2 {
      block B(v: spatial 12 = i + r) reads A[v] writes B[v] { B[v] = A[v] } } }
})"));
  expect_refused([&] { t.rolling_buffer(t.block("B"), t.loops("B")[0]); },
                 "schedule.rolling_buffer.use", "elsewhere than after it");
}

TEST(RollingBuffer, KeepsReadersOfTheRingWhereTheyAre) {
  // C reads the ring; moving it into D's loop would read rows that are gone.
  const ir::LoopFunc f = ir::parse_function(R"(
loops chain(A: in f32[10], D: out f32[9]) {
  alloc B: f32[10]
  alloc C: f32[9]
  for i in 0..9 {
    for r in 0..2 {
      block B(v: spatial 10 = i + r) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
    block C(v: spatial 9 = i) reads B[v +: 2] writes C[v] { C[v] = B[v] + B[v + 1] } }
  for i in 0..9 {
    block D(v: spatial 9 = i) reads C[v] writes D[v] { D[v] = C[v] * 3.0 } }
})");
  Schedule s(f);
  s.rolling_buffer(s.block("B"), s.loops("B")[0]);
  expect_same(f, s);
  expect_refused([&] { s.compute_at(s.block("C"), s.loops("D")[0]); }, "schedule.compute_at.ring",
                 "`B`, which it reads, is overwritten by block `B`");
  expect_refused([&] { s.compute_inline(s.block("C")); }, "schedule.inline.input", "`B`");
  expect_refused([&] { s.compute_root(s.block("C")); }, "schedule.compute_root.input", "`B`");
}

}  // namespace
}  // namespace tilewright::schedule
