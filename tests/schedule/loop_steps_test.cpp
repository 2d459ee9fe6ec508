// SPDX-License-Identifier: Apache-2.0
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

TEST(Split, CoversALoopThatTheFactorDoesNotDivide) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  s.split(y, {kOpen, 4});
  s.split(x, {3, 4});
  s.split(k, {kOpen, 2, 2});
  expect_same(matmul(10, 12, 7), s);
  EXPECT_NE(ir::print(s.func()).find("where"), std::string::npos);
}

TEST(Split, NeedsNoPredicateWhereTheFactorDivides) {
  Schedule s(matmul(8, 12, 6));
  s.split(s.loops("C")[0], {kOpen, 4});
  expect_same(matmul(8, 12, 6), s);
  EXPECT_EQ(ir::print(s.func()).find("where"), std::string::npos);
}

TEST(Split, RefusesFactorsThatDoNotCoverTheLoop) {
  Schedule s(matmul(10, 12, 7));
  const LoopRef y = s.loops("C")[0];
  const Diagnostic d = diagnostic_of([&] { s.split(y, {2, 4}); });
  EXPECT_EQ(d.code, "schedule.split.factor");
  EXPECT_NE(d.message.find("`y`"), std::string::npos);
  EXPECT_EQ(diagnostic_of([&] { s.split(y, {kOpen, 0}); }).code, "schedule.split.factor");
  EXPECT_EQ(diagnostic_of([&] { s.split(y, {kOpen, kOpen}); }).code, "schedule.split.factor");
  expect_same(matmul(10, 12, 7), s);  // nothing half-done
}

TEST(Fuse, JoinsNestedLoops) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  s.fuse({y, x});
  expect_same(matmul(10, 12, 7), s);
}

TEST(Fuse, KeepsWhereLoopsStart) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops inner(A: in f32[6, 7], C: inout f32[6, 7]) {
  for i in 2..6 { for j in 1..4 {
    block C(vi: spatial 6 = i, vj: spatial 7 = j) reads A[vi, vj] writes C[vi, vj] {
      C[vi, vj] = A[vi, vj] } } }
})");
  Schedule s(f);
  s.fuse(s.loops("C"));
  expect_same(f, s);
}

TEST(Fuse, RefusesAGap) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  EXPECT_EQ(diagnostic_of([&] { s.fuse({y, k}); }).code, "schedule.fuse.loops");
}

TEST(Reorder, ExchangesLoopsOfAReduction) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 4});
  const auto [k0, k1] = s.split<2>(k, {kOpen, 2});
  s.reorder({k0, x, y0, k1, y1});
  expect_same(matmul(10, 12, 7), s);
}

TEST(Reorder, RefusesWhatTwoLoopsCarry) {
  // a[i, j] needs a[i - 1, j + 1]: exchanging i and j would read it before it is written.
  const ir::LoopFunc f = ir::parse_function(R"(
loops skew(a: inout f32[8, 8]) {
  for i in 1..8 { for j in 0..7 { a[i, j] = a[i - 1, j + 1] * 2.0 } }
})");
  Program program(f);
  program.name("i", LoopResult{f.body.as<ir::For>()->var});
  program.name("j", LoopResult{f.body.as<ir::For>()->body.as<ir::For>()->var});
  const Diagnostic d = diagnostic_of([&] { Reorder{{{"j"}, {"i"}}}.apply(program); });
  EXPECT_EQ(d.code, "schedule.reorder.dependence");
  EXPECT_NE(d.notes[0].find("`a`"), std::string::npos);
}

TEST(Reorder, AllowsWhatOneLoopCarries) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops column(a: inout f32[8, 8]) {
  for i in 1..8 { for j in 0..8 { a[i, j] = a[i - 1, j] * 2.0 } }
})");
  Program program(f);
  program.name("i", LoopResult{f.body.as<ir::For>()->var});
  program.name("j", LoopResult{f.body.as<ir::For>()->body.as<ir::For>()->var});
  Reorder{{{"j"}, {"i"}}}.apply(program);
  EXPECT_EQ(program.func().body.as<ir::For>()->var.name(), "j");
  expect_same(f, program.func());
}

TEST(Reorder, KeepsAReductionTogetherThatRunsAgain) {
  // Neighbouring i need the same sums: with k outside, what ran before would be added again.
  Schedule s(ir::parse_function(R"(
loops again(A: in f32[6, 3], C: out f32[6]) {
  for i in 0..5 { for r in 0..2 { for k in 0..3 {
    block C(v: spatial 6 = i + r, vk: reduce 3 = k) reads A[v, vk] writes C[v] {
      init { C[v] = 0.0 }
      C[v] sum= A[v, vk] } } } }
})"));
  const auto [i, r, k] = s.loops<3>("C");
  const Diagnostic d = diagnostic_of([&] { s.reorder({k, i}); });
  EXPECT_EQ(d.code, "schedule.reorder.repeat");
  EXPECT_NE(d.message.find("`k`"), std::string::npos);
  const ir::LoopFunc before = s.func();
  s.reorder({k, r});  // in one iteration of i nothing runs twice
  expect_same(before, s.func());
}

TEST(Tile, OrdersOuterPartsBeforeInnerParts) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  s.tile({y, x}, {4, 4});
  expect_same(matmul(10, 12, 7), s);
}

TEST(Parallel, TakesASpatialLoopAndRefusesAReduction) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  const Diagnostic d = diagnostic_of([&] { s.parallel(k); });
  EXPECT_EQ(d.code, "schedule.loop.dependence");
  EXPECT_NE(d.notes[0].find("reduces into `C`"), std::string::npos);
  s.parallel(y);
  expect_same(matmul(10, 12, 7), s);
}

TEST(Parallel, RefusesALoopThatCarriesAValue) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops prefix(a: inout f32[8]) { for i in 1..8 { a[i] = a[i] + a[i - 1] } })");
  Program program(f);
  program.name("i", LoopResult{f.body.as<ir::For>()->var});
  EXPECT_EQ(diagnostic_of([&] { Parallel{{"i"}}.apply(program); }).code,
            "schedule.loop.dependence");
}

TEST(Vectorize, AsksForTheInitOfAReductionToBeSplitOff) {
  Schedule s(matmul(10, 12, 8));
  const auto [y, x, k] = s.loops<3>("C");
  EXPECT_EQ(diagnostic_of([&] { s.vectorize(k); }).code, "schedule.vectorize.init");
  s.decompose_reduction(s.block("C"), k);
  s.vectorize(k);
  expect_same(matmul(10, 12, 8), s);
}

TEST(Unroll, RefusesAMillionIterations) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops many(a: out f32[1000000]) { for i in 0..1000000 { a[i] = 0.0 } })");
  Program program(f);
  program.name("i", LoopResult{f.body.as<ir::For>()->var});
  EXPECT_EQ(diagnostic_of([&] { Unroll{{"i"}}.apply(program); }).code, "schedule.loop.extent");
}

TEST(Bind, KeepsThreadsInsideOfBlocks) {
  Schedule s(matmul(8, 8, 4));
  const auto [y, x, k] = s.loops<3>("C");
  s.bind(x, ir::ThreadAxis::ThreadX);
  s.bind(y, ir::ThreadAxis::BlockX);
  expect_same(matmul(8, 8, 4), s);
  Schedule t(matmul(8, 8, 4));
  const auto [y2, x2, k2] = t.loops<3>("C");
  t.bind(y2, ir::ThreadAxis::ThreadX);
  EXPECT_EQ(diagnostic_of([&] { t.bind(x2, ir::ThreadAxis::BlockX); }).code, "schedule.bind.order");
}

TEST(Partition, CutsTheRange) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  s.partition(y, {3, 8});
  expect_same(matmul(10, 12, 7), s);
  EXPECT_EQ(diagnostic_of([&] { s.partition(x, {5, 4}); }).code, "schedule.partition.point");
}

TEST(Fission, SeparatesIndependentStatements) {
  Schedule s(matmul(10, 12, 7));
  const auto [y, x, k] = s.loops<3>("C");
  s.decompose_reduction(s.block("C"), k);
  const auto parts = s.fission(x, 1);
  expect_same(matmul(10, 12, 7), s);
  s.fission(y, 1);
  expect_same(matmul(10, 12, 7), s);
  ASSERT_EQ(parts.size(), 2u);
}

TEST(Merge, JoinsNeighboursOfEqualRange) {
  Schedule s(matmul_relu());
  const LoopRef y = s.loops("C")[0], z = s.loops("D")[0];
  s.merge(y, z);
  expect_same(matmul_relu(), s);
}

TEST(Merge, DeclaresBuffersInBetweenBeforeBoth) {
  constexpr const char* kBefore = R"(
loops between(A: in f32[8], C: out f32[8]) {
  alloc B: f32[8]
  for i in 0..8 { B[i] = A[i] }
  alloc D: f32[8]
  alloc E: f32[8]
  for j in 0..8 { D[j] = B[j] + 1.0 }
  for k in 0..8 { E[k] = D[7 - k] }
  for l in 0..8 { C[l] = E[l] }
})";
  Program program(ir::parse_function(kBefore));
  const auto* outer = program.func().body.as<ir::Alloc>()->body.as<ir::Seq>();
  program.name("i", LoopResult{outer->stmts[0].as<ir::For>()->var});
  const auto* inner = outer->stmts[1].as<ir::Alloc>()->body.as<ir::Alloc>()->body.as<ir::Seq>();
  program.name("j", LoopResult{inner->stmts[0].as<ir::For>()->var});
  program.name("k", LoopResult{inner->stmts[1].as<ir::For>()->var});
  EXPECT_EQ(diagnostic_of([&] { Merge{{"i"}, {"k"}}.apply(program); }).code,
            "schedule.merge.loops");
  Merge{{"i"}, {"j"}}.apply(program);
  EXPECT_EQ(print(program.func()), print(ir::parse_function(R"(
loops between(A: in f32[8], C: out f32[8]) {
  alloc B: f32[8]
  alloc D: f32[8]
  alloc E: f32[8]
  for i in 0..8 { B[i] = A[i]   D[i] = B[i] + 1.0 }
  for k in 0..8 { E[k] = D[7 - k] }
  for l in 0..8 { C[l] = E[l] }
})")));
}

TEST(Merge, RefusesAConsumerThatReadsAhead) {
  Schedule s(ir::parse_function(R"(
loops ahead(A: in f32[8], C: out f32[8]) {
  alloc B: f32[9]
  for i in 0..8 { B[i + 1] = A[i] }
  for j in 0..8 { B[0] = 1.0   C[j] = B[8 - j] }
})"));
  Program program(s.func());
  const auto* seq = program.func().body.as<ir::Alloc>()->body.as<ir::Seq>();
  program.name("i", LoopResult{seq->stmts[0].as<ir::For>()->var});
  program.name("j", LoopResult{seq->stmts[1].as<ir::For>()->var});
  EXPECT_EQ(diagnostic_of([&] { Merge{{"i"}, {"j"}}.apply(program); }).code,
            "schedule.loop.dependence");
}

TEST(References, EndWithTheStepThatReplacesTheirLoop) {
  Schedule s(matmul(10, 12, 7));
  const LoopRef y = s.loops("C")[0];
  s.split(y, {kOpen, 5});
  EXPECT_EQ(diagnostic_of([&] { s.split(y, {kOpen, 5}); }).code, "schedule.ref.unknown");
  EXPECT_EQ(diagnostic_of([&] { s.block("Q"); }).code, "schedule.block.unknown");
}

TEST(Parallel, SeesWhatLetsMakeOfTheLoop) {
  const auto parallel = [](const std::string& let) {
    Schedule s(ir::parse_function("loops f(A: in f32[8], I: in i64[4], B: out f32[8]) {" + let +
                                  " block B(v: spatial 8 = i + t) reads A[v] writes B[v] {"
                                  " B[v] = A[v] } } }"));
    s.parallel(s.loops("B")[0]);
  };
  parallel("for i in 0..4 { let t = i");
  for (const char* same : {"for i in 0..4 { let t = 0 - i", "for i in 0..4 { let t = I[i]"})
    EXPECT_EQ(diagnostic_of([&] { parallel(same); }).code, "schedule.loop.dependence") << same;
}

TEST(Parallel, HoldsNoLoopsThatAreBound) {
  Schedule s(matmul(4, 6, 5));
  const auto [y, x, k] = s.loops<3>("C");
  s.bind(x, ir::ThreadAxis::ThreadX);
  const Diagnostic d = diagnostic_of([&] { s.parallel(y); });
  EXPECT_EQ(d.code, "schedule.loop.place");
  EXPECT_NE(d.notes[0].find("`x` would be bound inside of the parallel loop `y`"),
            std::string::npos);
  Schedule t(matmul(4, 6, 5));
  const auto [a, b, c] = t.loops<3>("C");
  t.parallel(a);
  EXPECT_EQ(diagnostic_of([&] { t.bind(b, ir::ThreadAxis::ThreadX); }).code, "schedule.loop.place");
}

}  // namespace
}  // namespace tilewright::schedule
