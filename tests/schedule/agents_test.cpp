// SPDX-License-Identifier: Apache-2.0
#include "schedule/overlap_fixtures.h"

namespace tilewright::schedule {
namespace {

ir::LoopFunc three_parts() {
  return ir::parse_function(R"(
loops parts(A: in f32[7, 4], W: in f32[7, 4], C: out f32[7, 4]) {
  for i in 0..7 {
    alloc B: f32[4] shared
    alloc V: f32[4] shared
    alloc D: f32[4] shared
    alloc E: f32[4] register
    for j in 0..4 { block B(vi: spatial 7 = i, vj: spatial 4 = j) reads A[vi, vj] writes B[vj] {
      B[vj] = A[vi, vj] } }
    for j in 0..4 { block V(vi: spatial 7 = i, vj: spatial 4 = j) reads W[vi, vj] writes V[vj] {
      V[vj] = W[vi, vj] } }
    for j in 0..4 { block E(vj: spatial 4 = j) reads B[vj] writes E[vj] { E[vj] = B[vj] + 1.0 } }
    for j in 0..4 { block D(vj: spatial 4 = j) reads E[3 - vj] writes D[vj] { D[vj] = E[3 - vj] } }
    for j in 0..4 { block C(vi: spatial 7 = i, vj: spatial 4 = j) reads D[vj], V[vj] writes C[vi, vj] {
      C[vi, vj] = D[vj] * V[vj] } }
  }
})");
}

TEST(Agents, EachRunsTheLoopOverItsOwnStatements) {
  Schedule s(rows(5));
  s.agents(s.loops("C")[0], {"load", "compute"}, {1, 1}, 2);
  EXPECT_EQ(ir::print(s.func()), R"(loops rows(A: in f32[5, 4], C: out f32[5]) stage scheduled {
  alloc B: f32[2, 4] shared
  channel load[2] commits=1 releases=1 over block
  agents {
    load(t in 0..1): {
      for i in 0..5 {
        acquire load[i]
        for j in 0..4 {
          block B(vi: spatial 5 = i, vj: spatial 4 = j, vi_1: ordered 5 = i)
              reads A[vi, vj]
              writes B[vi_1 % 2, vj] {
            B[vi_1 % 2, vj] = A[vi, vj] * 2.0
          }
        }
        commit load[i]
      }
    }
    compute(t in 0..1): {
      for i in 0..5 {
        wait load[i]
        for j in 0..4 {
          block C(vi: spatial 5 = i, vj: reduce 4 = j, vi_1: ordered 5 = i)
              reads B[vi_1 % 2, vj]
              writes C[vi] {
            init {
              C[vi] = 0.0
            }
            C[vi] sum= B[vi_1 % 2, vj]
          }
        }
        release load[i]
      }
    }
  }
}
)");
  expect_same_in_all_orders(rows(5), s);
}

TEST(Agents, HandOnThroughSeveral) {
  for (const int slots : {1, 2, 3}) {
    Schedule s(three_parts());
    const auto loops = s.agents(s.loops("C")[0], {"load", "compute", "store"}, {2, 2, 1}, slots);
    EXPECT_EQ(loops.size(), 3u);
    const std::string text = ir::print(s.func());
    // `load` is waited for by both others; what only `compute` touches is its own.
    EXPECT_NE(text.find("channel load[" + std::to_string(slots) + "] commits=1 releases=2"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("alloc E: f32[4] register"), std::string::npos) << text;
    expect_same_in_all_orders(three_parts(), s);
  }
}

TEST(Agents, AreRightForAnyNumberOfIterations) {
  for (const int n : {0, 1, 2}) {
    Schedule s(rows(n));
    s.agents(s.loops("C")[0], {"load", "compute"}, {1, 1}, 3);
    expect_same_in_all_orders(rows(n), s);
  }
  Schedule s(rows(-1));
  s.agents(s.loops("C")[0], {"load", "compute"}, {1, 1}, 3);
  expect_same_rows(s);
  EXPECT_TRUE(ir::check_concurrency(s.func()).proved);
}

TEST(Agents, SpecialiseATiledMatmul) {
  const ir::LoopFunc f = te_matmul(10, 12, 16);
  TiledMatmul m(f);
  m.s.agents(m.step, {"load", "compute"}, {2, 1}, 3);
  expect_same_in_all_orders(f, m.s);
}

TEST(Agents, Refuse) {
  const auto refusal = [](Schedule& s, const std::vector<std::string>& roles,
                          const std::vector<Number>& counts, int slots, const char* phrase) {
    const LoopRef i = s.loops("C")[0];
    const Diagnostic d = diagnostic_of([&] { s.agents(i, roles, counts, slots); });
    EXPECT_NE(d.notes[0].find(phrase), std::string::npos) << d.notes[0];
    EXPECT_FALSE(d.help.empty());
    return std::string(d.code);
  };
  Schedule s(three_parts());
  EXPECT_EQ(refusal(s, {"all"}, {5}, 2, "1 agents"), "schedule.agents.roles");
  EXPECT_EQ(refusal(s, {"a", "b"}, {5}, 2, "1 numbers"), "schedule.agents.roles");
  EXPECT_EQ(refusal(s, {"a", "a"}, {2, 3}, 2, "one name"), "schedule.agents.roles");
  EXPECT_EQ(refusal(s, {"a", "b"}, {2, 4}, 2, "cannot run 4"), "schedule.agents.roles");
  EXPECT_EQ(refusal(s, {"a", "b"}, {2, 2}, 2, "4 of the 5"), "schedule.agents.roles");
  EXPECT_EQ(refusal(s, {"a", "b"}, {2, 3}, 0, "0 slots"), "schedule.agents.slots");
  EXPECT_EQ(refusal(s, {"a", "b"}, {3, 2}, 2, "`E` goes from agent `a`"), "schedule.agents.scope");

  Schedule carried(ir::parse_function(R"(
loops carried(A: in f32[6], D: out f32[6], C: out f32[6]) {
  for i in 0..6 {
    block D(v: spatial 6 = i) reads A[v] writes D[v] { D[v] = A[v] * 2.0 }
    block C(v: spatial 6 = i) reads D[v] writes C[v] { C[v] = D[v] + 1.0 }
  }
})"));
  EXPECT_EQ(refusal(carried, {"a", "b"}, {1, 1}, 2, "`D`, which outlives an iteration"),
            "schedule.agents.dependence");

  Schedule back(ir::parse_function(R"(
loops back(A: in f32[6], C: out f32[6]) {
  for i in 0..6 {
    alloc B: f32[1] shared
    block B(v: spatial 6 = i) reads A[v] writes B[0] { B[0] = A[v] * 2.0 }
    block D() reads B[0] writes B[0] { B[0] = B[0] + 1.0 }
    block C(v: spatial 6 = i) reads B[0] writes C[v] { C[v] = B[0] }
  }
})"));
  EXPECT_EQ(refusal(back, {"a", "b"}, {1, 2}, 2, "`B` is written by agent `b`"),
            "schedule.agents.writers");

  Schedule held(ir::parse_function(R"(
loops held(A: in f32[6], C: out f32[6]) {
  alloc acc: f32[] register
  acc[] = 0.0
  for i in 0..6 {
    alloc B: f32[1] shared
    block B(v: spatial 6 = i) reads A[v] writes B[0] { B[0] = A[v] * 2.0 }
    block C(v: spatial 6 = i) reads B[0], acc[] writes C[v] { C[v] = B[0] + acc[] }
  }
})"));
  EXPECT_EQ(refusal(held, {"a", "b"}, {1, 1}, 2, "`acc`, which lives in `register`"),
            "schedule.agents.scope");

  Schedule parallel(ir::parse_function(R"(
loops nested(A: in f32[4, 6], C: out f32[4, 6]) {
  for o in 0..4 { for i in 0..6 {
    alloc B: f32[1]
    block B(w: spatial 4 = o, v: spatial 6 = i) reads A[w, v] writes B[0] { B[0] = A[w, v] * 2.0 }
    block D(w: spatial 4 = o, v: spatial 6 = i) reads B[0] writes C[w, v] { C[w, v] = B[0] }
  } }
})"));
  const auto loops = parallel.loops("D");
  parallel.parallel(loops[0]);
  Diagnostic d = diagnostic_of([&] { parallel.agents(loops[1], {"a", "b"}, {1, 1}, 2); });
  EXPECT_EQ(d.code, "schedule.agents.place");
  EXPECT_NE(d.notes[0].find("`o` around it is parallel"), std::string::npos);

  Schedule bound(rows(6));
  bound.bind(bound.loops("B")[1], ir::ThreadAxis::ThreadX);
  EXPECT_EQ(refusal(bound, {"a", "b"}, {1, 1}, 2, "`j` inside is bound to thread.x"),
            "schedule.agents.place");

  Schedule twice(rows(6));
  const auto agents = twice.agents(twice.loops("C")[0], {"a", "b"}, {1, 1}, 2);
  d = diagnostic_of([&] { twice.agents(agents[0], {"a", "b"}, {1, 1}, 2); });
  EXPECT_EQ(d.code, "schedule.loop.sync");
}

TEST(Agents, KeepOtherThreadsOut) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops nested(A: in f32[4, 6], C: out f32[4, 6]) {
  for o in 0..4 { for i in 0..6 {
    alloc B: f32[2] shared
    for j in 0..2 {
      block B(w: spatial 4 = o, v: spatial 6 = i, u: spatial 2 = j) reads A[w, v] writes B[u] {
        B[u] = A[w, v] * 2.0 } }
    block C(w: spatial 4 = o, v: spatial 6 = i) reads B[0..2] writes C[w, v] { C[w, v] = B[1] }
  } }
})");
  Schedule s(f);
  const LoopRef o = s.loops("C")[0];
  const auto roles = s.agents(s.loops("C")[1], {"load", "compute"}, {1, 1}, 2);
  const auto refusal = [&](auto&& step, const char* phrase) {
    const Diagnostic d = diagnostic_of(step);
    EXPECT_NE(d.notes[0].find(phrase), std::string::npos) << d.notes[0];
    return std::string(d.code);
  };
  EXPECT_EQ(refusal([&] { s.parallel(o); }, "agents stand inside"), "schedule.loop.place");
  EXPECT_EQ(refusal([&] { s.vthread(o); }, "agents stand inside"), "schedule.loop.place");
  EXPECT_EQ(refusal([&] { s.vectorize(o); }, "agents stand inside"), "schedule.loop.place");
  EXPECT_EQ(refusal([&] { s.bind(o, ir::ThreadAxis::ThreadX); }, "agents stand inside"),
            "schedule.loop.place");
  EXPECT_EQ(refusal([&] { s.bind(s.loops("B")[2], ir::ThreadAxis::ThreadX); }, "run by an agent"),
            "schedule.loop.place");
  s.bind(o, ir::ThreadAxis::BlockX);
  s.parallel(s.loops("B")[2]);
  expect_same_in_all_orders(f, s);
}

}  // namespace
}  // namespace tilewright::schedule
