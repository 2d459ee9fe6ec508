// SPDX-License-Identifier: Apache-2.0
#include "lower/pipeline.h"

#include "schedule/overlap_fixtures.h"

namespace tilewright::schedule {
namespace {

TEST(Pipeline, RunsTheProducerAhead) {
  Schedule s(rows(6));
  const LoopRef i = s.pipeline(s.loops("C")[0], 3);
  EXPECT_EQ(ir::print(s.func()), R"(loops rows(A: in f32[6, 4], C: out f32[6]) stage scheduled {
  alloc B: f32[3, 4] shared
  for i in 0..8 {
    for j in 0..4 {
      block B(vi: spatial 6 = i, vj: spatial 4 = j, vi_1: ordered 6 = i)
          where i < 6
          reads A[vi, vj]
          writes B[vi_1 % 3, vj] {
        B[vi_1 % 3, vj] = A[vi, vj] * 2.0
      }
    }
    for j in 0..4 {
      block C(vi: spatial 6 = i - 2, vj: reduce 4 = j, vi_1: ordered 6 = i - 2)
          where i >= 2
          reads B[vi_1 % 3, vj]
          writes C[vi] {
        init {
          C[vi] = 0.0
        }
        C[vi] sum= B[vi_1 % 3, vj]
      }
    }
  }
}
)");
  expect_same(rows(6), s);
  s.split(i, {kOpen, 3});  // and goes on
  expect_same(rows(6), s);
}

TEST(Pipeline, IssuesTheProducerOnAChannel) {
  Schedule s(rows(6));
  s.pipeline(s.loops("C")[0], 2, Overlap::Async);
  EXPECT_EQ(ir::print(s.func()), R"(loops rows(A: in f32[6, 4], C: out f32[6]) stage scheduled {
  alloc B: f32[2, 4] shared
  channel i_ring[2] commits=1 releases=1 over agent
  for i in 0..7 {
    if i < 6 {
      acquire i_ring[i]
      async -> i_ring[i] bytes 16 {
        for j in 0..4 {
          block B(vi: spatial 6 = i, vj: spatial 4 = j, vi_1: ordered 6 = i)
              reads A[vi, vj]
              writes B[vi_1 % 2, vj] {
            B[vi_1 % 2, vj] = A[vi, vj] * 2.0
          }
        }
      }
      commit i_ring[i] bytes 16
    }
    if i >= 1 {
      wait i_ring[i - 1]
      for j in 0..4 {
        block C(vi: spatial 6 = i - 1, vj: reduce 4 = j, vi_1: ordered 6 = i - 1)
            reads B[vi_1 % 2, vj]
            writes C[vi] {
          init {
            C[vi] = 0.0
          }
          C[vi] sum= B[vi_1 % 2, vj]
        }
      }
      release i_ring[i - 1]
    }
  }
}
)");
  expect_same_in_all_orders(rows(6), s);
}

TEST(Pipeline, IsRightForLoopsShorterThanItsStages) {
  for (const int n : {0, 1, 2, 3, 5})
    for (const Overlap overlap : {Overlap::Sync, Overlap::Async}) {
      SCOPED_TRACE(testing::Message() << n << " iterations");
      Schedule s(rows(n));
      s.pipeline(s.loops("C")[0], 4, overlap);
      expect_same_in_all_orders(rows(n), s);
    }
  for (const Overlap overlap : {Overlap::Sync, Overlap::Async}) {
    Schedule s(rows(-1));
    s.pipeline(s.loops("C")[0], 4, overlap);
    expect_same_rows(s);
    EXPECT_TRUE(ir::check_concurrency(s.func()).proved);
  }
}

/// The loop does not start at 0, and an iteration fills more than it reads.
TEST(Pipeline, CountsFromTheLoopsStartAndKeepsAllThatIsFilled) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops later(A: in f32[40], C: out f32[32]) {
  for j in 0..8 { C[j] = 0.0 }
  for i in 2..8 {
    alloc B: f32[40] shared
    for j in 0..6 { block B(v: spatial 40 = i * 4 + j) reads A[v] writes B[v] { B[v] = A[v] } }
    for j in 0..4 { block C(v: spatial 32 = i * 4 + j) reads B[v] writes C[v] { C[v] = B[v] } }
  }
})");
  for (const Overlap overlap : {Overlap::Sync, Overlap::Async}) {
    Schedule s(f);
    s.pipeline(s.loops("C")[0], 3, overlap);
    EXPECT_NE(ir::print(s.func()).find("alloc B: f32[3, 6] shared"), std::string::npos)
        << ir::print(s.func());
    expect_same_in_all_orders(f, s);
  }
}

TEST(Pipeline, LowersToAPrologueASteadyStateAndAnEpilogue) {
  Schedule s(rows(50));
  s.pipeline(s.loops("C")[0], 3);
  lower::PassContext context;
  const ir::LoopFunc final = lower::run(lower::cpu_pipeline(), s.func(), context);
  const std::string text = ir::print(final);
  EXPECT_NE(text.find("in 2..50"), std::string::npos) << text;  // without a condition inside
  EXPECT_NE(text.find("alloc B: f32[12]"), std::string::npos) << text;
}

TEST(Pipeline, KeepsWhatTheRestNeedsForItselfInside) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops both(A: in f32[5, 4], C: out f32[5, 4]) {
  for i in 0..5 {
    alloc B: f32[4]
    alloc D: f32[4]
    for j in 0..4 { block B(vi: spatial 5 = i, vj: spatial 4 = j) reads A[vi, vj] writes B[vj] {
      B[vj] = A[vi, vj] * 2.0 } }
    for j in 0..4 { block D(vj: spatial 4 = j) reads B[vj] writes D[vj] { D[vj] = B[vj] + 1.0 } }
    for j in 0..4 { block C(vi: spatial 5 = i, vj: spatial 4 = j) reads D[vj], B[3 - vj] writes C[vi, vj] {
      C[vi, vj] = D[vj] * B[3 - vj] } }
  }
})");
  Schedule s(f);
  s.pipeline(s.loops("C")[0], 2);
  expect_same(f, s);
  EXPECT_NE(ir::print(s.func()).find("alloc D: f32[2, 4]"), std::string::npos);  // fills, too

  const ir::LoopFunc g = ir::parse_function(R"(
loops scratch(A: in f32[5, 4], E: inout f32[4], C: out f32[5, 4]) {
  for i in 0..5 {
    alloc B: f32[4]
    for j in 0..4 { block B(vi: spatial 5 = i, vj: spatial 4 = j) reads A[vi, vj] writes B[vj] {
      B[vj] = A[vi, vj] * 2.0 } }
    alloc D: f32[4]
    for j in 0..4 { block D(vj: spatial 4 = j) reads B[vj], E[vj] writes D[vj] { D[vj] = B[vj] + E[vj] } }
    for j in 0..4 { block E(vi: ordered 5 = i, vj: spatial 4 = j) reads D[vj] writes E[vj] { E[vj] = D[vj] } }
    for j in 0..4 { block C(vi: spatial 5 = i, vj: spatial 4 = j) reads D[vj] writes C[vi, vj] {
      C[vi, vj] = D[vj] } }
  }
})");
  Schedule t(g);
  t.pipeline(t.loops("C")[0], 3);
  expect_same(g, t);
  EXPECT_NE(ir::print(t.func()).find("alloc D: f32[4]"), std::string::npos);
}

TEST(Pipeline, OverlapsTheCopiesOfATiledMatmul) {
  const ir::LoopFunc f = te_matmul(10, 12, 16);
  for (const Overlap overlap : {Overlap::Sync, Overlap::Async}) {
    TiledMatmul m(f);
    m.s.pipeline(m.step, 3, overlap);
    const std::string text = ir::print(m.s.func());
    EXPECT_NE(text.find("alloc A_shared: f32[3, 4, 3] shared"), std::string::npos) << text;
    EXPECT_NE(text.find("alloc B_shared: f32[3, 3, 8] shared"), std::string::npos) << text;
    expect_same_in_all_orders(f, m.s);
  }
}

TEST(Pipeline, Refuses) {
  const auto refusal = [](Schedule& s, const LoopRef& loop, int stages, Overlap overlap,
                          const char* phrase) {
    const Diagnostic d = diagnostic_of([&] { s.pipeline(loop, stages, overlap); });
    EXPECT_NE(d.notes[0].find(phrase), std::string::npos) << d.notes[0];
    EXPECT_FALSE(d.help.empty());
    return std::string(d.code);
  };
  Schedule s(rows(6));
  const LoopRef i = s.loops("C")[0], j = s.loops("C")[1];
  EXPECT_EQ(refusal(s, i, 1, Overlap::Sync, "1 stages"), "schedule.pipeline.stages");
  EXPECT_EQ(refusal(s, i, 65, Overlap::Sync, "65 stages"), "schedule.pipeline.stages");
  EXPECT_EQ(refusal(s, j, 2, Overlap::Sync, "one statement"), "schedule.pipeline.body");
  Schedule shape(ir::parse_function(R"(
loops tri(A: in f32[8, 8], C: out f32[8]) {
  for i in 0..8 {
    alloc B: f32[i + 1]
    for j in 0..i + 1 { B[j] = A[i, j] }
    block C(v: spatial 8 = i) reads B[0..i + 1] writes C[v] { C[v] = B[0] } }
})"));
  EXPECT_EQ(refusal(shape, shape.loops("C")[0], 2, Overlap::Sync, "shape of `B`"),
            "schedule.overlap.body");
  Schedule inside(ir::parse_function(R"(
loops inside(A: in f32[8], C: out f32[8]) {
  opaque block O() reads A[0..8] writes C[0..8] {
    for i in 0..8 {
      alloc B: f32[1]
      block B(v: spatial 8 = i) reads A[v] writes B[0] { B[0] = A[v] }
      block C(v: spatial 8 = i) reads B[0] writes C[v] { C[v] = B[0] } }
  }
})"));
  EXPECT_EQ(refusal(inside, inside.loops("C")[0], 2, Overlap::Sync, "inside block `O`"),
            "schedule.block.nested");
  const LoopRef copy = s.loops("B")[1];
  s.parallel(copy);
  EXPECT_EQ(refusal(s, i, 2, Overlap::Async, "is parallel"), "schedule.pipeline.async");
  s.pipeline(i, 2);  // which a plain loop may be

  Schedule async(rows(6));
  const LoopRef once = async.pipeline(async.loops("C")[0], 2, Overlap::Async);
  EXPECT_EQ(refusal(async, once, 2, Overlap::Sync, "channel `i_ring`"), "schedule.loop.sync");
  EXPECT_EQ(diagnostic_of([&] { async.fission(once, 1); }).code, "schedule.loop.sync");
  EXPECT_EQ(diagnostic_of([&] { async.merge(once, once); }).code, "schedule.loop.sync");

  Schedule shared(ir::parse_function(R"(
loops carried(A: in f32[6], C: out f32[6], D: out f32[6]) {
  for i in 0..6 {
    block C(v: spatial 6 = i) reads A[v] writes C[v] { C[v] = A[v] * 2.0 }
    block D(v: spatial 6 = i) reads C[v] writes D[v] { D[v] = C[v] + 1.0 }
  }
})"));
  EXPECT_EQ(refusal(shared, shared.loops("C")[0], 2, Overlap::Sync, "writes `C`"),
            "schedule.pipeline.producer");

  Schedule feeds(ir::parse_function(R"(
loops feeds(C: inout f32[7]) {
  for i in 0..6 {
    alloc B: f32[1]
    block B(v: ordered 6 = i) reads C[v] writes B[0] { B[0] = C[v] * 2.0 }
    block C(v: ordered 6 = i) reads B[0] writes C[v + 1] { C[v + 1] = B[0] }
  }
})"));
  EXPECT_EQ(refusal(feeds, feeds.loops("C")[0], 2, Overlap::Sync, "block `B` reads `C`"),
            "schedule.pipeline.producer");

  Schedule chain(ir::parse_function(R"(
loops chain(A: in f32[6], C: out f32[6]) {
  for i in 0..6 {
    alloc B: f32[1]
    alloc D: f32[1]
    block B(v: spatial 6 = i) reads A[v] writes B[0] { B[0] = A[v] * 2.0 }
    block D() reads B[0] writes D[0] { D[0] = B[0] + 1.0 }
    block C(v: spatial 6 = i) reads D[0] writes C[v] { C[v] = D[0] }
  }
})"));
  EXPECT_EQ(refusal(chain, chain.loops("C")[0], 2, Overlap::Async, "block `B` and block `D`"),
            "schedule.pipeline.async");
  chain.pipeline(chain.loops("C")[0], 2);  // in order they may depend on each other
}

TEST(Pipeline, RefusesSlotsThatShareAByte) {
  const auto nibbles = [](const char* n) {
    const std::string size(n);
    return ir::parse_function("loops nibbles(A: in i4[5, " + size + "], C: out i4[5, " + size +
                              R"(]) {
  for i in 0..5 {
    alloc B: i4[)" + size + R"(]
    for j in 0..)" + size + R"( { block B(vi: spatial 5 = i, vj: spatial )" +
                              size +
                              R"( = j) reads A[vi, vj] writes B[vj] { B[vj] = A[vi, vj] } }
    for j in 0..)" + size + R"( { block C(vi: spatial 5 = i, vj: spatial )" +
                              size +
                              R"( = j) reads B[vj] writes C[vi, vj] { C[vi, vj] = B[vj] } }
  }
})");
  };
  Schedule odd(nibbles("3"));
  const Diagnostic d = diagnostic_of([&] { odd.pipeline(odd.loops("C")[0], 2); });
  EXPECT_EQ(d.code, "schedule.slots.bits");
  EXPECT_NE(d.notes[0].find("two slots of `B`"), std::string::npos);
  Schedule even(nibbles("4"));
  even.pipeline(even.loops("C")[0], 2, Overlap::Async);
  expect_same_in_all_orders(nibbles("4"), even);
  EXPECT_NE(ir::print(even.func()).find("bytes 2"), std::string::npos);
}

TEST(Pipeline, ReachesThreadsInside) {
  const ir::LoopFunc f = te_matmul(8, 8, 9);
  TiledMatmul m(f);
  const LoopRef row = m.s.loops("C")[3];
  m.s.pipeline(m.step, 3, Overlap::Async);
  m.s.bind(row, ir::ThreadAxis::ThreadX);
  expect_same_in_all_orders(f, m.s);
}

TEST(Pipeline, RefusesPlacesWhereAChannelCannotStand) {
  const ir::LoopFunc f = ir::parse_function(R"(
loops nested(A: in f32[4, 6], C: out f32[4, 6]) {
  for o in 0..4 { for i in 0..6 {
    alloc B: f32[1] register
    block B(w: spatial 4 = o, v: spatial 6 = i) reads A[w, v] writes B[0] { B[0] = A[w, v] * 2.0 }
    block C(w: spatial 4 = o, v: spatial 6 = i) reads B[0] writes C[w, v] { C[w, v] = B[0] }
  } }
})");
  Schedule lanes(f);
  lanes.vectorize(lanes.loops("C")[0]);
  Diagnostic d = diagnostic_of([&] { lanes.pipeline(lanes.loops("C")[1], 2, Overlap::Async); });
  EXPECT_EQ(d.code, "schedule.pipeline.place");
  EXPECT_NE(d.notes[0].find("`o` around it is vectorized"), std::string::npos);
  Schedule threads(f);
  threads.bind(threads.loops("C")[0], ir::ThreadAxis::ThreadX);
  d = diagnostic_of([&] { threads.pipeline(threads.loops("C")[1], 2, Overlap::Async); });
  EXPECT_EQ(d.code, "schedule.pipeline.place");
  EXPECT_NE(d.notes[0].find("bound to thread.x"), std::string::npos);
  threads.pipeline(threads.loops("C")[1], 2);
  expect_same(f, threads);
}

}  // namespace
}  // namespace tilewright::schedule
