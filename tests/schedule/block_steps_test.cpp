// SPDX-License-Identifier: Apache-2.0
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

TEST(ComputeAt, ComputesTheRegionThatTheConsumerNeeds) {
  Schedule s(matmul_relu());
  const auto [y, x] = s.loops<2>("D");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 4});
  s.compute_at(s.block("C"), y0);
  expect_same(matmul_relu(), s);
  s.parallel(y0);  // the buffer moved inside, so iterations share nothing
  expect_same(matmul_relu(), s);
}

TEST(ComputeAt, RepeatsTheHalo) {
  Schedule s(blur());
  const auto [i0, i1] = s.split<2>(s.loops("C")[0], {kOpen, 4});
  s.compute_at(s.block("B"), i0);
  expect_same(blur(), s);
}

TEST(ComputeAt, LeavesToEachThreadTheBufferThatItWrites) {
  // B is computed at C's iterations, halo and all; with C gone they would share one B.
  Schedule s(ir::parse_function(R"(
loops chain(A: in f32[10], D: out f32[9]) {
  alloc B: f32[10]
  alloc C: f32[9]
  for i in 0..10 { block B(v: spatial 10 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..9 {
    block C(v: spatial 9 = i) reads B[v +: 2] writes C[v] { C[v] = B[v] + B[v + 1] } }
  for i in 0..9 { block D(v: spatial 9 = i) reads C[v] writes D[v] { D[v] = C[v] * 3.0 } }
})"));
  const LoopRef i = s.loops("C")[0];
  s.compute_at(s.block("B"), i);
  s.parallel(i);
  const Diagnostic d = diagnostic_of([&] { s.compute_at(s.block("C"), s.loops("D")[0]); });
  EXPECT_EQ(d.code, "schedule.alloc.threads");
  EXPECT_NE(d.notes[0].find("writes a `B` of its own"), std::string::npos);
}

TEST(ComputeAt, RefusesAnOutputAndALoopWithoutAllConsumers) {
  Schedule s(matmul_relu());
  const LoopRef y = s.loops("C")[0];
  EXPECT_EQ(diagnostic_of([&] { s.compute_at(s.block("D"), y); }).code,
            "schedule.compute_at.order");
  Schedule t(ir::parse_function(R"(
loops two(A: in f32[8], C: out f32[8], D: out f32[8]) {
  alloc B: f32[8]
  for i in 0..8 { block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..8 { block C(v: spatial 8 = i) reads B[v] writes C[v] { C[v] = B[v] + 1.0 } }
  for i in 0..8 { block D(v: spatial 8 = i) reads B[v] writes D[v] { D[v] = B[v] + 2.0 } }
})"));
  const Diagnostic d = diagnostic_of([&] { t.compute_at(t.block("B"), t.loops("C")[0]); });
  EXPECT_EQ(d.code, "schedule.compute_at.consumer");
  EXPECT_NE(d.notes[0].find("block `D`"), std::string::npos);
}

TEST(ReverseComputeAt, MovesAnEpilogueIntoTheTile) {
  Schedule s(matmul_relu());
  const auto [y, x, k] = s.loops<3>("C");
  const auto tiles = s.tile({y, x}, {4, 4});
  s.reverse_compute_at(s.block("D"), tiles[1]);
  expect_same(matmul_relu(), s);
}

TEST(ReverseComputeAt, CountsTheTilesOfSizesThatOnlyTheRunKnows) {
  // Three such sizes have a product that may wrap, so that little is known of it.
  const ir::LoopFunc before = ir::parse_function(R"(
loops rounded(A: in f32[n, h, w], D: out f32[n, h, w])
    where n in 1..2147483647, h in 1..2147483647, w in 1..2147483647 {
  alloc C: f32[n, (h + 1) / 2 * 2, (w + 15) / 16 * 16]
  for i in 0..n { for y in 0..(h + 1) / 2 * 2 { for x in 0..(w + 15) / 16 * 16 {
    block C(vi: spatial n = i, vy: spatial (h + 1) / 2 * 2 = y, vx: spatial (w + 15) / 16 * 16 = x)
        reads A[vi, vy, vx] writes C[vi, vy, vx] {
      C[vi, vy, vx] = guard(vy < h && vx < w, A[vi, vy, vx], 0.0) } } } }
  for i in 0..n { for y in 0..h { for x in 0..w {
    block D(vi: spatial n = i, vy: spatial h = y, vx: spatial w = x)
        reads C[vi, vy, vx] writes D[vi, vy, vx] {
      D[vi, vy, vx] = C[vi, vy, vx] * 2.0 } } } }
})");
  Schedule s(before);
  const auto [i, y, x] = s.loops<3>("C");
  const auto tiles = s.tile({y, x}, {2, 16});
  s.reverse_compute_at(s.block("D"), tiles[1]);
  for (const std::vector<int64_t>& at : {std::vector<int64_t>{2, 3, 17}, {1, 4, 16}})
    expect_same_at(before, s.func(), at, {at, at});
}

TEST(ReverseComputeAt, AcceptsAnIteratorMadeOfSeveralLoops) {
  Schedule s(blur());
  const std::vector<LoopRef> tiles = s.split(s.loops("B")[0], {kOpen, 5, 2});
  const BlockRef copy = s.cache_write(s.block("B"), "B", ir::ScopeKind::Global);
  s.reverse_compute_at(copy, tiles[1]);
  expect_same(blur(), s);
}

TEST(ReverseComputeAt, RefusesAPlaceWhereLoopsOverlap) {
  // Two loops make one iterator and reach the same elements: [0, 8) and [4, 12).
  Schedule s(ir::parse_function(R"(
loops overlap(A: in f32[12], C: out f32[12]) {
  alloc B: f32[12]
  for i in 0..2 { for j in 0..8 {
    block B(v: spatial 12 = i * 4 + j) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } } }
  for i in 0..12 { block C(v: spatial 12 = i) reads B[v] writes C[v] { C[v] = B[v] + 1.0 } }
})"));
  const LoopRef i = s.loops("B")[0];
  const Diagnostic d = diagnostic_of([&] { s.reverse_compute_at(s.block("C"), i); });
  EXPECT_EQ(d.code, "schedule.reverse_compute_at.partial");
}

TEST(ReverseComputeAt, RefusesAPlaceWhereTheReductionIsNotComplete) {
  Schedule s(matmul_relu());
  const auto [y, x, k] = s.loops<3>("C");
  s.reorder({k, y, x});
  const Diagnostic d = diagnostic_of([&] { s.reverse_compute_at(s.block("D"), y); });
  EXPECT_EQ(d.code, "schedule.reverse_compute_at.partial");
  EXPECT_NE(d.notes[0].find("`k`"), std::string::npos);
}

TEST(ComputeInline, PutsTheProducerIntoItsConsumers) {
  Schedule s(blur());
  s.compute_inline(s.block("B"));
  expect_same(blur(), s);
  EXPECT_EQ(ir::print(s.func()).find("alloc"), std::string::npos);
}

TEST(ComputeInline, RefusesAReduction) {
  Schedule s(matmul_relu());
  EXPECT_EQ(diagnostic_of([&] { s.compute_inline(s.block("C")); }).code, "schedule.inline.body");
}

TEST(ReverseComputeInline, PutsTheConsumerIntoItsProducer) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops chain(A: in f32[9], b: in f32[9], C: out f32[9]) {
  alloc B: f32[9]
  for i in 0..9 { block B(v: spatial 9 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..9 { block C(w: spatial 9 = i) reads B[w], b[w] writes C[w] { C[w] = B[w] + b[w] } }
})");
  Schedule s(f);
  s.split(s.loops("B")[0], {kOpen, 4});
  s.reverse_compute_inline(s.block("C"));
  expect_same(f, s);
}

TEST(CacheWrite, KeepsTheResultInRegistersOfATile) {
  const ir::LoopFunc f = matmul(10, 12, 7);
  Schedule s(f);
  const BlockRef c = s.block("C");
  const BlockRef copy = s.cache_write(c, "C", ir::ScopeKind::Register);
  const auto loops = s.loops(c);
  const auto tiles = s.tile({loops[0], loops[1]}, {4, 4});
  s.reorder({loops[2], tiles[2], tiles[3]});
  s.reverse_compute_at(copy, tiles[1]);
  s.decompose_reduction(c, loops[2]);
  s.unroll(tiles[2]);
  s.vectorize(tiles[3]);
  expect_same(f, s);
}

TEST(CacheRead, CopiesWhatTheTileReads) {
  const ir::LoopFunc f = matmul(10, 12, 7);
  Schedule s(f);
  const BlockRef c = s.block("C");
  const BlockRef a = s.cache_read(c, "A", ir::ScopeKind::Shared);
  const auto loops = s.loops(c);
  const auto tiles = s.tile({loops[0], loops[1]}, {4, 4});
  s.compute_at(a, tiles[0]);
  s.transform_layout(a, "A_shared", [] {
    const ir::Var i("i"), k("k");
    return IndexMap{{i, k}, {i / 4, k, i % 4}};
  }());
  expect_same(f, s);
}

TEST(SetScope, LeavesParametersAlone) {
  Schedule s(matmul_relu());
  s.set_scope(s.block("C"), "C", ir::ScopeKind::Shared);
  expect_same(matmul_relu(), s);
  EXPECT_EQ(diagnostic_of([&] { s.set_scope(s.block("D"), "D", ir::ScopeKind::Shared); }).code,
            "schedule.set_scope.param");
}

TEST(DecomposeReduction, StaysInsideOfALoopThatRunsInOrder) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops f(x: in f32[5, 6], U: in f32[6, 6], h: inout f32[6, 6]) {
  alloc r: f32[6]
  for t in 0..5 {
    for i in 0..6 { for j in 0..6 {
      block r(vt: ordered 5 = t, vi: spatial 6 = i, vj: reduce 6 = j)
        reads U[vi, vj], h[vt, vj] writes r[vi] {
        init { r[vi] = 0.0 }
        r[vi] sum= U[vi, vj] * h[vt, vj]
      } } }
    for i in 0..6 {
      block h(vt: ordered 5 = t, vi: spatial 6 = i) reads x[vt, vi], r[vi] writes h[vt + 1, vi] {
        h[vt + 1, vi] = x[vt, vi] + r[vi]
      } } }
})");
  Schedule s(f);
  const auto [t, i, j] = s.loops<3>("r");
  const Diagnostic d = diagnostic_of([&] { s.decompose_reduction(s.block("r"), t); });
  EXPECT_EQ(d.code, "schedule.decompose.order");
  EXPECT_NE(d.notes[0].find("`t`"), std::string::npos);
  s.decompose_reduction(s.block("r"), i);
  s.reorder({j, i});
  expect_same(f, s);
}

TEST(DecomposeReduction, RefusesALoopInsideOfTheReduction) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  s.reorder({k, x});
  const Diagnostic d = diagnostic_of([&] { s.decompose_reduction(s.block("C"), x); });
  EXPECT_EQ(d.code, "schedule.decompose.outer");
  s.decompose_reduction(s.block("C"), k);
  expect_same(matmul(10, 12, 7), s);
}

TEST(DecomposeReduction, RefusesALoopThatRunsTheReductionAgain) {
  Schedule s(ir::parse_function(R"(
loops again(A: in f32[6, 3], C: out f32[6]) {
  for i in 0..5 { for r in 0..2 { for k in 0..3 {
    block C(v: spatial 6 = i + r, vk: reduce 3 = k) reads A[v, vk] writes C[v] {
      init { C[v] = 0.0 }
      C[v] sum= A[v, vk] } } } }
})"));
  const ir::LoopFunc before = s.func();
  const auto [i, r, k] = s.loops<3>("C");
  const Diagnostic d = diagnostic_of([&] { s.decompose_reduction(s.block("C"), i); });
  EXPECT_EQ(d.code, "schedule.decompose.repeat");
  s.decompose_reduction(s.block("C"), r);
  expect_same(before, s.func());
}

TEST(RFactor, MakesPartialResults) {
  const ir::LoopFunc f = matmul(3, 4, 10);
  Schedule s(f);
  const auto [y, x, k] = s.loops<3>("C");
  const auto [k0, k1] = s.split<2>(k, {kOpen, 4});
  const auto [partial, combined] = s.rfactor(s.block("C"), k1);
  expect_same(f, s);
  s.reorder({k0, k1});
  s.vectorize(k1);
  expect_same(f, s);
}

TEST(RFactor, WorksWhereTheReductionIsShorterThanTheFactor) {
  const ir::LoopFunc f = matmul(3, 4, 3);
  Schedule s(f);
  const auto [y, x, k] = s.loops<3>("C");
  const auto [k0, k1] = s.split<2>(k, {kOpen, 8});
  s.rfactor(s.block("C"), k1);
  expect_same(f, s);
}

TEST(TransformLayout, RefusesParametersAndMapsThatLoseElements) {
  Schedule s(matmul_relu());
  const ir::Var i("i"), j("j");
  EXPECT_EQ(diagnostic_of([&] { s.transform_layout(s.block("D"), "D", {{i, j}, {j, i}}); }).code,
            "schedule.transform_layout.buffer");
  EXPECT_EQ(
      diagnostic_of([&] { s.transform_layout(s.block("C"), "C", {{i, j}, {i / 4, j}}); }).code,
      "schedule.index_map.digits");
  s.transform_layout(s.block("C"), "C", {{i, j}, {j / 5, i, j % 5}});
  expect_same(matmul_relu(), s);
}

}  // namespace
}  // namespace tilewright::schedule
