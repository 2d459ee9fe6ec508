// SPDX-License-Identifier: Apache-2.0
// Programs that a careless step would break: each is refused with the reason, or stays right.
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

const char* const kTriangle = R"(
loops triangle(A: in f32[4, 4], C: inout f32[4, 4]) {
  for i in 0..4 { for j in 0..i + 1 {
    block C(vi: spatial 4 = i, vj: spatial 4 = j) reads A[vi, vj] writes C[vi, vj] {
      C[vi, vj] = A[vi, vj] } } }
})";

TEST(Fuse, RefusesARangeThatDependsOnAnotherLoop) {
  Schedule s(ir::parse_function(kTriangle));
  const auto [i, j] = s.loops<2>("C");
  expect_refused([&] { s.fuse({i, j}); }, "schedule.fuse.loops", "range of `j` depends on `i`");
}

TEST(Reorder, RefusesARangeThatDependsOnAnotherLoop) {
  Schedule s(ir::parse_function(kTriangle));
  const auto [i, j] = s.loops<2>("C");
  expect_refused([&] { s.reorder({j, i}); }, "schedule.reorder.range", "depends on `i`");
}

TEST(Reorder, RefusesToChangeWhatAReaderSeesOfARunningSum) {
  Schedule s(ir::parse_function(R"(
loops running(A: in f32[4, 4], s: inout f32[1], C: out f32[4, 4]) {
  for i in 0..4 { for j in 0..4 {
    block R(vi: reduce 4 = i, vj: reduce 4 = j) reads A[vi, vj] writes s[0] {
      s[0] sum= A[vi, vj] }
    block C(vi: spatial 4 = i, vj: spatial 4 = j) reads s[0] writes C[vi, vj] {
      C[vi, vj] = s[0] } } }
})"));
  const auto [i, j] = s.loops<2>("C");
  expect_refused([&] { s.reorder({j, i}); }, "schedule.reorder.dependence", "`s`");
}

TEST(Vectorize, RefusesAnOpaqueReduction) {
  Schedule s(ir::parse_function(R"(
loops last(A: in f32[8], C: inout f32[1]) {
  for i in 0..8 {
    opaque block C(v: reduce 8 = i) reads A[v] writes C[0] { C[0] = A[v] } }
})"));
  expect_refused([&] { s.vectorize(s.loops("C")[0]); }, "schedule.loop.dependence", "`C`");
}

TEST(Parallel, RefusesOpaqueBlocksThatWriteOneElement) {
  Schedule s(ir::parse_function(R"(
loops last(A: in f32[8], C: inout f32[1]) {
  for i in 0..8 {
    opaque block C(v: spatial 8 = i) reads A[v] writes C[0] { C[0] = A[v] } }
})"));
  expect_refused([&] { s.parallel(s.loops("C")[0]); }, "schedule.loop.dependence", "`C`");
}

/// The loop over j has no iteration for i = 0: that it runs says nothing about C.
TEST(Parallel, KnowsThatALoopBesideAnAccessMayNotRun) {
  Schedule s(ir::parse_function(R"(
loops beside(A: in f32[4], B: inout f32[4, 4], C: inout f32[4]) {
  for i in 0..4 {
    for j in 0..i {
      block B(vi: spatial 4 = i, vj: spatial 4 = j) writes B[vi, vj] { B[vi, vj] = 0.0 } }
    opaque block C(v: spatial 4 = i) reads A[v] writes C[max(v, 1)] { C[max(v, 1)] = A[v] } }
})"));
  expect_refused([&] { s.parallel(s.loops("C")[0]); }, "schedule.loop.dependence", "`C`");
}

TEST(Parallel, KnowsWhichBranchAnAccessStandsIn) {
  Schedule s(ir::parse_function(R"(
loops halves(A: in f32[8], C: inout f32[4]) {
  for i in 0..8 {
    if i < 4 { block X(v: spatial 8 = i) reads A[v] writes C[v] { C[v] = A[v] } }
    else { block Y(v: spatial 8 = i) reads A[v] writes C[v - 4] { C[v - 4] = A[v] } } }
})"));
  expect_refused([&] { s.parallel(s.loops("X")[0]); }, "schedule.loop.dependence", "block `Y`");
}

TEST(Fission, RefusesToLetALaterReadSeeANewerValue) {
  Schedule s(ir::parse_function(R"(
loops shift(A: in f32[8], B: inout f32[9], C: out f32[8]) {
  for i in 0..8 {
    block B(v: spatial 8 = i) reads A[v] writes B[v] { B[v] = A[v] }
    block C(v: spatial 8 = i) reads B[v + 1] writes C[v] { C[v] = B[v + 1] } }
})"));
  expect_refused([&] { s.fission(s.loops("B")[0], 1); }, "schedule.loop.dependence", "`B`");
}

TEST(Merge, RefusesDifferentNumbersOfIterations) {
  Schedule s(ir::parse_function(R"(
loops two(A: in f32[5], B: out f32[4], C: out f32[5]) {
  for i in 0..4 { block B(v: spatial 4 = i) reads A[v] writes B[v] { B[v] = A[v] } }
  for i in 0..5 { block C(v: spatial 5 = i) reads A[v] writes C[v] { C[v] = A[v] } }
})"));
  expect_refused([&] { s.merge(s.loops("B")[0], s.loops("C")[0]); }, "schedule.merge.loops",
                 "4 and 5 iterations");
}

const char* const kEvens = R"(
loops evens(A: in f32[8], C: inout f32[8], D: out f32[4]) {
  alloc B: f32[8]
  for i in 0..4 { block C(v: spatial 8 = i * 2) reads A[v] writes C[v] { C[v] = A[v] } }
  for i in 0..4 { block B(v: spatial 8 = i * 2) reads A[v] writes B[v] { B[v] = A[v] } }
  for i in 0..4 { block D(v: spatial 4 = i) reads B[v * 2] writes D[v] { D[v] = B[v * 2] } }
})";

TEST(CacheWrite, RefusesAResultWithGaps) {
  Schedule s(ir::parse_function(kEvens));
  expect_refused([&] { s.cache_write(s.block("C"), "C", ir::ScopeKind::Register); },
                 "schedule.cache_write.partial", "do not reach every element");
}

TEST(CacheRead, RefusesAnInputWithGaps) {
  Schedule s(ir::parse_function(kEvens));
  expect_refused([&] { s.cache_read(s.block("D"), "B", ir::ScopeKind::Register); },
                 "schedule.cache_read.unwritten", "written before");
}

TEST(ComputeAt, RefusesAReductionOverAPartOfItsDomain) {
  Schedule s(ir::parse_function(R"(
loops half(A: in f32[4, 8], C: out f32[4]) {
  alloc B: f32[4]
  for i in 0..4 { for k in 0..4 {
    block B(v: spatial 4 = i, vk: reduce 8 = k) reads A[v, vk] writes B[v] {
      init { B[v] = 0.0 }
      B[v] sum= A[v, vk] } } }
  for i in 0..4 { block C(v: spatial 4 = i) reads B[v] writes C[v] { C[v] = B[v] } }
})"));
  expect_refused([&] { s.compute_at(s.block("B"), s.loops("C")[0]); }, "schedule.compute_at.loops",
                 "only a part of `vk`");
}

TEST(ComputeAt, RefusesToPassAWriterOfItsInput) {
  Schedule s(ir::parse_function(R"(
loops late(A: inout f32[4], C: out f32[4]) {
  alloc B: f32[4]
  for i in 0..4 { block B(v: spatial 4 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..4 { block W(v: spatial 4 = i) writes A[v] { A[v] = 1.0 } }
  for i in 0..4 { block C(v: spatial 4 = i) reads B[v] writes C[v] { C[v] = B[v] } }
})"));
  expect_refused([&] { s.compute_at(s.block("B"), s.loops("C")[0]); }, "schedule.compute_at.input",
                 "block `W`");
}

TEST(ComputeInline, RefusesAReaderThatStandsBefore) {
  Schedule s(ir::parse_function(R"(
loops early(A: in f32[4], C: inout f32[4]) {
  alloc B: f32[4]
  for t in 0..2 {
    for i in 0..4 {
      block C(v: spatial 4 = i) where t > 0 reads B[v] writes C[v] { C[v] = B[v] } }
    for i in 0..4 { block B(v: spatial 4 = i) reads A[v] writes B[v] { B[v] = A[v] } } }
})"));
  expect_refused([&] { s.compute_inline(s.block("B")); }, "schedule.inline.order", "block `C`");
}

TEST(ReverseComputeInline, LeavesOutWhatTheConsumerDoesNotWant) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops cut(A: in f32[10], C: out f32[8]) {
  alloc B: f32[10]
  for i in 0..10 { block B(v: spatial 10 = i) reads A[v] writes B[v] { B[v] = A[v] * 2.0 } }
  for i in 0..8 { block C(v: spatial 8 = i) reads B[v] writes C[v] { C[v] = B[v] + 1.0 } }
})");
  Schedule s(f);
  s.reverse_compute_inline(s.block("C"));
  expect_same(f, s);
}

TEST(ReverseComputeInline, RefusesAnInputThatALoopAroundStillWrites) {
  Schedule s(ir::parse_function(R"(
loops rows(A: in f32[3, 4], C: out f32[3, 4]) {
  alloc S: f32[3, 4]
  alloc B: f32[3, 4]
  for i in 0..3 {
    for j in 0..4 {
      block S(u: spatial 3 = i, v: spatial 4 = j) reads A[u, v] writes S[u, v] {
        S[u, v] = A[u, v] * 2.0 } }
    for j in 0..4 {
      block B(u: spatial 3 = i, v: spatial 4 = j) reads S[u, v] writes B[u, v] {
        B[u, v] = S[u, v] + 1.0 } } }
  for i in 0..3 {
    for j in 0..4 {
      block C(u: spatial 3 = i, v: spatial 4 = j) reads B[u, v], S[2 - u, v] writes C[u, v] {
        C[u, v] = B[u, v] + S[2 - u, v] } } }
})"));
  expect_refused([&] { s.reverse_compute_inline(s.block("C")); }, "schedule.inline.input",
                 "`S` is not complete before block `B`");
}

TEST(RFactor, RefusesAReductionThatALoopComputesAgain) {
  Schedule s(ir::parse_function(R"(
loops again(A: in f32[4], C: out f32[1]) {
  for t in 0..3 {
    for k in 0..4 {
      block C(v: spatial 1 = 0, r: reduce 4 = k) reads A[r] writes C[v] {
        init { C[v] = 0.0 }
        C[v] sum= A[r] } } }
})"));
  const auto loops = s.loops("C");
  EXPECT_THROW(s.rfactor(s.block("C"), loops[1]), Error);
}

TEST(CacheRead, RefusesWhatTheLoopsThemselvesWrite) {
  Schedule s(ir::parse_function(R"(
loops twice(A: inout f32[4]) {
  for i in 0..4 { block A(v: spatial 4 = i) reads A[v] writes A[v] { A[v] = A[v] * 2.0 } }
})"));
  expect_refused([&] { s.cache_read(s.block("A"), "A", ir::ScopeKind::Register); },
                 "schedule.cache_read.written", "written inside");
}

TEST(DecomposeReduction, RefusesALoopOverSpaceAndReductionAtOnce) {
  Schedule s(matmul(4, 5, 6));
  const auto [y, x, k] = s.loops<3>("C");
  const LoopRef both = s.fuse({x, k});
  expect_refused([&] { s.decompose_reduction(s.block("C"), both); }, "schedule.decompose.mixed",
                 "serves a spatial and a reduction iterator");
}

TEST(DecomposeReduction, RefusesAReductionThatMayBeEmpty) {
  Schedule s(ir::parse_function(R"(
loops sums(A: in f32[4, n], C: inout f32[4]) where n in 0..9 {
  for i in 0..4 { for k in 0..n {
    block C(v: spatial 4 = i, vk: reduce n = k) reads A[v, vk] writes C[v] {
      init { C[v] = 0.0 }
      C[v] sum= A[v, vk] } } }
})"));
  expect_refused([&] { s.decompose_reduction(s.block("C"), s.loops("C")[1]); },
                 "schedule.decompose.empty", "`k`");
}

TEST(RFactor, StartsPartialProductsAtOne) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops products(A: in f32[4, 6], C: out f32[4]) {
  for i in 0..4 { for k in 0..6 {
    block C(v: spatial 4 = i, vk: reduce 6 = k) reads A[v, vk] writes C[v] {
      init { C[v] = 1.0 }
      C[v] prod= A[v, vk] } } }
})");
  Schedule s(f);
  const auto [k0, k1] = s.split<2>(s.loops("C")[1], {kOpen, 3});
  s.rfactor(s.block("C"), k1);
  expect_same(f, s);
}

}  // namespace
}  // namespace tilewright::schedule
