// SPDX-License-Identifier: Apache-2.0
#include "schedule/fixtures.h"

namespace tilewright::schedule {
namespace {

ir::LoopFunc scale(const std::string& n) {
  return ir::parse_function("loops scale(A: in f32[" + n + "], C: out f32[" + n + "])" +
                            (n == "n" ? " where n in 0..100" : "") + " {\n  for i in 0.." + n +
                            " { block C(v: spatial " + n +
                            " = i) reads A[v] writes C[v] { C[v] = A[v] * 2.0 } } }");
}

TEST(Persistent, GivesEachWorkerEveryNthIteration) {
  Schedule s(scale("10"));
  s.persistent(s.loops("C")[0], 4);
  EXPECT_EQ(ir::print(s.func()), R"(loops scale(A: in f32[10], C: out f32[10]) stage scheduled {
  parallel for i_0 in 0..4 {
    for i_1 in 0..3 {
      block C(v: spatial 10 = i_1 * 4 + i_0) where i_1 * 4 + i_0 < 10 reads A[v] writes C[v] {
        C[v] = A[v] * 2.0
      }
    }
  }
}
)");
  expect_same(scale("10"), s);
}

TEST(Persistent, NeedsNoConditionWhereTheWorkersDivideTheLoop) {
  Schedule s(scale("12"));
  const auto [worker, turn] = s.persistent(s.loops("C")[0], 4, {.axis = ir::ThreadAxis::BlockX});
  const std::string text = ir::print(s.func());
  EXPECT_EQ(text.find("where"), std::string::npos);
  EXPECT_NE(text.find("bind(block.x) for i_0 in 0..4"), std::string::npos);
  expect_same(scale("12"), s);
}

TEST(Persistent, TakesLoopsOfAnyLength) {
  Schedule s(scale("n"));
  s.persistent(s.loops("C")[0], 4);
  ir::verify(s.func());
  for (const int64_t n : {0, 1, 3, 4, 5, 11}) {
    std::vector<ir::Array> one = {ir::random_array(ir::Elem::F32, {n}, 7, ir::Arithmetic::Exact),
                                  ir::random_array(ir::Elem::F32, {n}, 8, ir::Arithmetic::Exact)};
    std::vector<ir::Array> two = one;
    ir::interpret(scale("n"), one, {n}, {.arithmetic = ir::Arithmetic::Exact});
    ir::interpret(s.func(), two, {n}, {.arithmetic = ir::Arithmetic::Exact});
    EXPECT_TRUE(ir::same_bits(one[1], two[1])) << n;
  }
}

TEST(Persistent, Refuses) {
  Schedule s(matmul(4, 4, 4));
  const auto [y, x, k] = s.loops<3>("C");
  Diagnostic d = diagnostic_of([&] { s.persistent(k, 2); });
  EXPECT_EQ(d.code, "schedule.loop.dependence");
  EXPECT_NE(d.notes[0].find("reduces into `C`"), std::string::npos);
  d = diagnostic_of([&] { s.persistent(y, 0); });
  EXPECT_EQ(d.code, "schedule.persistent.count");
  EXPECT_NE(d.message.find("0 workers"), std::string::npos);
  s.bind(y, ir::ThreadAxis::BlockX);
  d = diagnostic_of([&] { s.persistent(x, 2, {.axis = ir::ThreadAxis::BlockX}); });
  EXPECT_EQ(d.code, "schedule.bind.order");
  EXPECT_NE(d.notes[0].find("bound to block.x"), std::string::npos);
}

TEST(Cluster, BindsTheRanksOfACluster) {
  const ir::LoopFunc f = matmul(8, 12, 7);
  Schedule s(f);
  const auto [y, x, k] = s.loops<3>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 2});
  s.bind(y0, ir::ThreadAxis::BlockX);
  s.cluster(y1, ir::ThreadAxis::ClusterX);
  EXPECT_NE(ir::print(s.func()).find("bind(cluster.x) for y_1 in 0..2"), std::string::npos);
  expect_same(f, s);
}

TEST(Cluster, Refuses) {
  const auto refusal = [](Schedule& s, const LoopRef& loop, ir::ThreadAxis axis,
                          const char* phrase) {
    const Diagnostic d = diagnostic_of([&] { s.cluster(loop, axis); });
    EXPECT_NE(d.notes[0].find(phrase), std::string::npos) << d.notes[0];
    return std::string(d.code);
  };
  Schedule s(matmul(10, 40, 7));
  const auto [y, x, k] = s.loops<3>("C");
  EXPECT_EQ(refusal(s, y, ir::ThreadAxis::BlockX, "no axis of a cluster"), "schedule.cluster.axis");
  EXPECT_EQ(refusal(s, x, ir::ThreadAxis::ClusterX, "40 iterations"), "schedule.cluster.extent");
  const auto [y0, y1] = s.split<2>(y, {kOpen, 4});
  EXPECT_EQ(refusal(s, y1, ir::ThreadAxis::ClusterX, "only where y_0 * 4 + y_1 < 10"),
            "schedule.cluster.tail");
  const auto [x0, x1] = s.split<2>(x, {kOpen, 8});
  EXPECT_EQ(refusal(s, k, ir::ThreadAxis::ClusterX, "reduces into"), "schedule.loop.dependence");
  const auto [a, b] = s.split<2>(x0, {kOpen, 5});
  s.cluster(b, ir::ThreadAxis::ClusterX);
  EXPECT_EQ(refusal(s, x1, ir::ThreadAxis::ClusterY, "40 blocks"), "schedule.cluster.extent");

  Schedule t(scale("n"));
  EXPECT_EQ(refusal(t, t.loops("C")[0], ir::ThreadAxis::ClusterX, "not a constant"),
            "schedule.cluster.extent");

  Schedule u(matmul(8, 4, 7));
  const BlockRef c = u.block("C");
  u.cache_read(c, "A", ir::ScopeKind::Shared);
  EXPECT_EQ(refusal(u, u.loops(c)[0], ir::ThreadAxis::ClusterX, "`A_shared` lives in `shared`"),
            "schedule.cluster.scope");
}

/// B computed where each iteration of C needs it: three elements, two of which the next one needs.
Schedule blur_in_one_loop(ir::ScopeKind scope) {
  Schedule s(blur());
  s.set_scope(s.block("B"), "B", scope);
  s.compute_at(s.block("B"), s.loops("C")[0]);
  return s;
}

TEST(Bind, RefusesWhereIterationsShareABufferInside) {
  using enum ir::ThreadAxis;
  const std::vector<std::tuple<ir::ScopeKind, ir::ThreadAxis, bool>> cases = {
      {ir::ScopeKind::Global, ThreadX, false},  {ir::ScopeKind::Global, BlockX, false},
      {ir::ScopeKind::Shared, ThreadX, false},  {ir::ScopeKind::Shared, BlockX, true},
      {ir::ScopeKind::Register, ThreadX, true}, {ir::ScopeKind::Register, BlockX, true}};
  for (const auto& [scope, axis, taken] : cases) {
    SCOPED_TRACE(ir::print(ir::Scope{scope, {}}) + " " + std::string(ir::name(axis)));
    Schedule s = blur_in_one_loop(scope);
    const LoopRef loop = s.loops("C")[0];
    if (taken) {
      s.bind(loop, axis);
      expect_same(blur(), s);
      continue;
    }
    const std::string before = ir::print(s.func());
    const Diagnostic d = diagnostic_of([&] { s.bind(loop, axis); });
    EXPECT_EQ(d.code, "schedule.bind.shared");
    EXPECT_NE(d.message.find("share `B`"), std::string::npos) << d.message;
    EXPECT_NE(d.help.find("set_scope"), std::string::npos) << d.help;
    EXPECT_EQ(ir::print(s.func()), before);
  }
}

TEST(Bind, RefusesWhereWhatIterationsOwnIsOutside) {
  Schedule s(blur());
  s.set_scope(s.block("B"), "B", ir::ScopeKind::Register);
  const Diagnostic d = diagnostic_of([&] { s.bind(s.loops("C")[0], ir::ThreadAxis::ThreadX); });
  EXPECT_EQ(d.code, "schedule.bind.outside");
  EXPECT_NE(d.message.find("`B` lives in register outside of `i"), std::string::npos) << d.message;
  s.set_scope(s.block("B"), "B", ir::ScopeKind::Shared);
  s.bind(s.loops("C")[0], ir::ThreadAxis::ThreadX);
  expect_same(blur(), s);
}

TEST(Bind, RefusesAxesInAnotherOrderThanTheHardwareHasThem) {
  Schedule s(matmul(4, 4, 4));
  const auto [y, x, k] = s.loops<3>("C");
  s.bind(x, ir::ThreadAxis::BlockX);
  for (const auto axis : {ir::ThreadAxis::ThreadX, ir::ThreadAxis::BlockX})
    EXPECT_EQ(diagnostic_of([&] { s.bind(y, axis); }).code, "schedule.bind.order");
}

TEST(Bind, TakesASharedBufferWhoseIterationsStayApart) {
  Schedule s(matmul_relu());
  s.compute_at(s.block("C"), s.loops("D")[0]);  // a row of C for each row of D, in global memory
  s.bind(s.loops("D")[0], ir::ThreadAxis::BlockX);
  expect_same(matmul_relu(), s);
}

TEST(Bind, LaterStepsShareNothingEither) {
  Schedule s(blur());
  s.bind(s.loops("C")[0], ir::ThreadAxis::ThreadX);
  const Diagnostic d = diagnostic_of([&] { s.compute_at(s.block("B"), s.loops("C")[0]); });
  EXPECT_EQ(d.code, "schedule.bind.shared");
  Schedule t = blur_in_one_loop(ir::ScopeKind::Register);
  t.bind(t.loops("C")[0], ir::ThreadAxis::ThreadX);
  const Diagnostic e =
      diagnostic_of([&] { t.set_scope(t.block("B"), "B", ir::ScopeKind::Shared); });
  EXPECT_EQ(e.code, "schedule.bind.shared");
  EXPECT_NE(e.message.find("cannot set_scope"), std::string::npos) << e.message;
}

}  // namespace
}  // namespace tilewright::schedule
