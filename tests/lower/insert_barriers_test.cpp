// SPDX-License-Identifier: Apache-2.0
#include "lower/fixtures.h"

namespace tilewright::lower {
namespace {

int barriers_in(const ir::LoopFunc& f) {
  int n = 0;
  ir::walk(f.body, [&](const ir::Barrier&) { ++n; });
  return n;
}

ir::LoopFunc without_barrier(const ir::LoopFunc& f, int which) {
  int n = 0;
  return f.with_body(ir::rewrite(f.body, [&](const ir::Barrier& b, auto&) -> ir::Stmt {
    return n++ == which ? ir::nothing() : ir::Stmt::of(b);
  }));
}

/// Sound: the interpreter finds no race. Minimal: without any one barrier it does, or a value is
/// missing.
void expect_needed(const ir::LoopFunc& f, int count, const std::vector<int64_t>& symbols = {}) {
  EXPECT_EQ(barriers_in(f), count) << ir::print(f);
  for (uint64_t seed : {0, 1, 2}) results_of(f, symbols, {.seed = seed});
  for (int i = 0; i < barriers_in(f); ++i) {
    const ir::LoopFunc broken = without_barrier(f, i);
    const Diagnostic d = diagnostic_of([&] { results_of(broken, symbols, {}); });
    // A read that nothing orders after its write may also come first.
    EXPECT_TRUE(d.code == "ir.run.race" || d.code == "ir.run.uninitialised") << d.code << "\n"
                                                                             << ir::print(broken);
  }
}

TEST(InsertBarriers, BetweenAWriteAndAReadOfAnotherThread) {
  const ir::LoopFunc f = after(insert_barriers, R"(
loops f(A: in f32[32], B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.x) for t in 0..32 {
      s[t] = A[t]
      B[t] = s[31 - t]
    }
  }
})");
  expect_program(f, R"(
loops f(A: in f32[32], B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.x) for t in 0..32 {
      s[t] = A[t]
      barrier block
      B[t] = s[31 - t]
    }
  }
})");
  expect_needed(f, 1);
}

TEST(InsertBarriers, NoneWhereEachThreadKeepsToItself) {
  expect_needed(after(insert_barriers, R"(
loops f(A: in f32[4, 8], B: out f32[4, 8]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.y) for y in 0..4 { bind(thread.x) for x in 0..8 {
      s[y*8 + x] = A[y, x]
      for i in 0..3 { s[y*8 + x] = s[y*8 + x] + 1.0 }
      B[y, x] = s[y*8 + x]
    } }
  }
})"),
                0);
}

TEST(InsertBarriers, RoundTheBackEdgeOfALoop) {
  expect_needed(after(insert_barriers, R"(
loops f(A: in f32[4, 32], B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.x) for t in 0..32 {
      alloc r: f32[] register
      r[] = 0.0
      for k in 0..4 {
        s[t] = A[k, t]
        r[] = r[] + s[31 - t]
      }
      B[t] = r[]
    }
  }
})"),
                2);
}

TEST(InsertBarriers, TwoBuffersInTurnNeedOneBarrier) {
  expect_needed(after({unroll, insert_barriers}, R"(
loops f(A: in f32[4, 32], B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[2, 32] shared
    bind(thread.x) for t in 0..32 {
      alloc r: f32[] register
      r[] = 0.0
      unrolled for k in 0..4 {
        s[k % 2, t] = A[k, t]
        r[] = r[] + s[k % 2, 31 - t]
      }
      B[t] = r[]
    }
  }
})"),
                4);
}

TEST(InsertBarriers, OneBeforeALoopNotOneInEachIteration) {
  const ir::LoopFunc f = after(insert_barriers, R"(
loops f(A: in f32[32], B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.x) for t in 0..32 {
      alloc r: f32[] register
      s[t] = A[t]
      r[] = 0.0
      for k in 0..32 { r[] = r[] + s[k] }
      B[t] = r[]
    }
  }
})");
  expect_needed(f, 1);
  ir::walk(f.body, [&](const ir::For& loop) {
    if (loop.var.name() != "k") return true;
    ir::walk(loop.body, [](const ir::Barrier&) { ADD_FAILURE() << "a barrier in the loop"; });
    return false;
  });
}

TEST(InsertBarriers, BothSidesOfAUniformBranch) {
  expect_needed(after(insert_barriers, R"(
loops f(A: in f32[32], B: out f32[32]) where n in 0..2 stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.x) for t in 0..32 {
      s[t] = A[t]
      if n == 0 { B[t] = s[31 - t] } else { B[t] = A[t] }
      if n == 1 { s[t] = 0.0 }
    }
  }
})"),
                1, {0});
}

TEST(InsertBarriers, AProductOfTilesInShared) {
  expect_needed(after(insert_barriers, R"(
loops f(A: in f32[8, 16], B: in f32[16, 8], C: out f32[8, 8]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc sa: f32[8, 8] shared
    alloc sb: f32[8, 8] shared
    bind(thread.y) for y in 0..8 { bind(thread.x) for x in 0..8 {
      alloc acc: f32[] register
      acc[] = 0.0
      for ko in 0..2 {
        sa[y, x] = A[y, ko*8 + x]
        sb[y, x] = B[ko*8 + y, x]
        for k in 0..8 { acc[] = acc[] + sa[y, k] * sb[k, x] }
      }
      C[y, x] = acc[]
    } }
  }
})"),
                2);
}

TEST(InsertBarriers, RefusesAConflictWhereNoBarrierCanStand) {
  const Diagnostic one = diagnostic_of([] {
    after(insert_barriers, R"(loops f(B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[33] shared
    bind(thread.x) for t in 0..32 {
      s[t] = s[t + 1]
    }
  }
})");
  });
  EXPECT_EQ(one.code, "lower.barriers.inside");
  EXPECT_EQ(one.at.line, 5);
  EXPECT_NE(one.message.find("`s`"), std::string::npos);

  const Diagnostic divergent = diagnostic_of([] {
    after(insert_barriers, R"(loops f(A: in f32[32], B: inout f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    alloc s: f32[32] shared
    bind(thread.x) for t in 0..32 {
      if t < 16 { s[t] = A[t]  B[t] = s[15 - t] }
    }
  }
})");
  });
  EXPECT_EQ(divergent.code, "lower.barriers.inside");
  EXPECT_EQ(divergent.at.line, 5);
}

TEST(InsertBarriers, SharedInsideOfTheThreadsIsTheBlocks) {
  expect_needed(after(insert_barriers, R"(
loops f(A: in f32[32], B: out f32[32]) stage scheduled {
  bind(block.x) for b in 0..1 {
    bind(thread.x) for t in 0..32 {
      alloc s: f32[32] shared
      s[t] = A[t]
      B[t] = s[31 - t]
    }
  }
})"),
                1);
}

}  // namespace
}  // namespace tilewright::lower
