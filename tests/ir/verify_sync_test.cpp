// SPDX-License-Identifier: Apache-2.0
// Where concurrency may stand, and what it may not depend on. One broken text per rule.
#include "ir/broken_text.h"

namespace tilewright::ir {
namespace {

constexpr Broken kPlaces[] = {
    {"BarrierInVectorized", "ir.verify.placement", "inside the `vectorized` loop `i`", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    vectorized for i in 0..4 {
      barrier block // here
    }
  }
})"},
    {"AgentsInParallel", "ir.verify.placement", "`agents` stands inside the `parallel` loop", R"(
loops f(A: out f32[4]) stage scheduled {
  parallel for i in 0..4 {
    agents { // here
      a(t in 0..1): { A[i] = 0.0 }
    }
  }
})"},
    {"AgentsInVThread", "ir.verify.placement", "inside the `vthread` loop `v`", R"(
loops f(A: out f32[4]) stage scheduled {
  vthread for v in 0..4 {
    agents { // here
      a(t in 0..1): { A[v] = 0.0 }
    }
  }
})"},
    {"AgentsInAgents", "ir.verify.placement", "`agents` stands inside `agents`", R"(
loops f(A: out f32[4]) stage scheduled {
  agents {
    a(t in 0..1): {
      agents { // here
        b(u in 0..1): { A[0] = 0.0 }
      }
    }
  }
})"},
    {"AgentsInThreads", "ir.verify.placement", "bound to threads", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for i in 0..4 {
    agents { // here
      a(t in 0..1): { A[i] = 0.0 }
    }
  }
})"},
    {"ThreadsInAgents", "ir.verify.placement", "inside `agents`", R"(
loops f(A: out f32[4]) stage scheduled {
  agents {
    a(t in 0..1): {
      bind(thread.x) for i in 0..4 { A[i] = 0.0 } // here
    }
  }
})"},
    {"TwoAgentsOfOneName", "ir.verify.duplicate", "two agents are named `a`", R"(
loops f(A: out f32[4]) stage scheduled {
  agents { // here
    a(t in 0..1): { A[0] = 0.0 }
    a(t in 0..1): { A[1] = 0.0 }
  }
})"},
    {"BarrierInParallel", "ir.verify.placement", "inside the `parallel` loop", R"(
loops f(A: out f32[4]) stage scheduled {
  parallel for i in 0..4 {
    barrier block // here
  }
})"},
    {"BarrierInVThread", "ir.verify.placement", "inside the `vthread` loop", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    vthread for i in 0..4 {
      barrier block // here
    }
  }
})"},
    {"WaitInAsync", "ir.verify.placement", "`wait c` stands inside `async -> c`", R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  async -> c[0] {
    wait c[0] // here
  }
})"},
    {"AllocInAsync", "ir.verify.placement", "the allocation of `s` stands inside `async", R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  async -> c[0] {
    alloc s: f32[] register // here
    s[] = 0.0
  }
})"},
    {"ChannelOutsideOfVThread", "ir.verify.placement", "its channel outside", R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  vthread for v in 0..4 {
    acquire c[v] // here
  }
})"},
    {"ChannelOutsideOfParallel", "ir.verify.placement", "its channel outside", R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  parallel for v in 0..4 {
    async -> c[v] { A[v] = 0.0 } // here
  }
})"},
    {"ChannelOutsideOfBlocks", "ir.verify.channel_reach", "declared outside of the `bind(block.x)`",
     R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  bind(block.x) for b in 0..4 {
    acquire c[0] // here
  }
})"},
    {"AgentChannelOutsideOfAgent", "ir.verify.channel_reach", "declared outside of agent `a`", R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over agent
  agents {
    a(t in 0..1): {
      acquire c[0] // here
    }
  }
})"},
    {"RankOfABlockChannel", "ir.verify.channel_reach", "no other block can name it", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(cluster.x) for r in 0..4 {
    channel c[1] commits=1 releases=1 over block
    commit c@0[0] // here
  }
})"},
    {"ClusterChannelWithoutCluster", "ir.verify.channel_reach", "outside of a cluster", R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over cluster // here
  commit c[0]
})"},
    {"AgentBarrierWithoutAgent", "ir.verify.barrier_reach", "an agent must stand around", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    barrier agent // here
  }
})"},
    {"ClusterBarrierWithoutCluster", "ir.verify.barrier_reach", "`cluster.x` must stand around", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    barrier cluster // here
  }
})"},
    {"GridBarrierWithoutGrid", "ir.verify.barrier_reach", "`block.x` must stand around", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    barrier grid // here
  }
})"},
    {"BlockBarrierWithoutThreads", "ir.verify.barrier_reach", "has no participants", R"(
loops f(A: out f32[4]) stage scheduled {
  bind(block.x) for b in 0..4 {
    barrier block // here
  }
})"},
    {"NamedBarrierOfTwoSizes", "ir.verify.barrier_reach", "waits for 32 threads here and for 64",
     R"(
loops f(A: out f32[4]) stage scheduled {
  bind(thread.x) for t in 0..64 {
    barrier named "x" 64
    barrier named "x" 32 // here
  }
})"},
    {"AxisBoundTwice", "ir.verify.bind_axis", "bound to `thread.x` inside of loop `i`", R"(
loops f(A: out f32[4, 4]) stage scheduled {
  bind(thread.x) for i in 0..4 {
    bind(thread.x) for j in 0..4 { A[i, j] = 0.0 } // here
  }
})"},
    {"BlockInsideThread", "ir.verify.bind_axis", "inside of loop `i` bound to `thread.x`", R"(
loops f(A: out f32[4, 4]) stage scheduled {
  bind(thread.x) for i in 0..4 {
    bind(block.x) for j in 0..4 { A[i, j] = 0.0 } // here
  }
})"},
    {"BoundExtentFromData", "ir.verify.bind_extent", "depends on data loaded from `n`", R"(
loops f(n: in i64[], A: out f32[4]) stage scheduled {
  bind(block.x) for i in 0..n[] { A[i] = 0.0 } // here
})"},
};

constexpr Broken kSync[] = {
    {"ItemFromData", "ir.verify.sync_data", "`acquire c` depends on data loaded from `n`", R"(
loops f(n: in i64[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  acquire c[n[0]] // here
})"},
    {"BytesFromData", "ir.verify.sync_data", "`commit c` depends on data loaded from `n`", R"(
loops f(n: in i64[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  let bytes = n[0] * 4
  commit c[0] bytes bytes // here
})"},
    {"BarrierUnderLoadedCondition", "ir.verify.sync_data", "depends on data loaded from `n`", R"(
loops f(n: in i64[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    if n[t] > 0 {
      barrier block // here
    }
  }
})"},
    {"BarrierInLoopOfLoadedExtent", "ir.verify.sync_data", "`barrier block` depends on data", R"(
loops f(n: in i64[]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    for i in 0..n[] {
      barrier block // here
    }
  }
})"},
    {"ItemOfLoopWithLoadedStart", "ir.verify.sync_data", "`wait c` depends on data", R"(
loops f(n: in i64[]) stage scheduled {
  channel c[4] commits=1 releases=1 over block
  let first = n[]
  for i in first..first + 4 {
    wait c[i] // here
  }
})"},
    {"ScalarVariableFromData", "ir.verify.sync_data", "`barrier block` depends on data", R"(
loops f(n: in i64[4]) stage scheduled {
  bind(thread.x) for t in 0..4 {
    alloc i: i64[] register
    i[] = 0
    while i[] < 4 {
      barrier block // here
      i[] = i[] + n[t]
    }
  }
})"},
    {"ScalarVariableStoredUnderData", "ir.verify.sync_data", "`acquire c` depends on data", R"(
loops f(n: in i64[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  alloc i: i64[] register
  i[] = 0
  if n[0] == 1 { i[] = 1 }
  acquire c[i[]] // here
})"},
    {"AtomicResult", "ir.verify.sync_data", "`acquire c` depends on data", R"(
loops f(n: inout i64[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  alloc old: i64[] register
  atomic add relaxed (n[0], 1) -> old
  acquire c[old[]] // here
})"},
    {"AsyncUnderPredicate", "ir.verify.sync_data", "`async -> c` depends on data", R"(
loops f(n: in i64[4], A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  for i in 0..4 {
    opaque block b(v: spatial 4 = i) where n[i] > 0 reads n[0..4] writes A[v] {
      async -> c[i] { A[v] = 0.0 } // here
    }
  }
})"},
    {"ItemFromThread", "ir.verify.sync_divergent", "`acquire c` depends on the thread variable `t`",
     R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  bind(thread.x) for t in 0..4 {
    acquire c[t] // here
  }
})"},
    {"OneThreadCommits", "ir.verify.sync_divergent", "`commit c` depends on the thread variable",
     R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  agents {
    a(t in 0..4): {
      let first = t == 0
      if first {
        commit c[0] // here
      }
    }
  }
})"},
    {"OneThreadIssues", "ir.verify.sync_divergent", "`async -> c` depends on the thread variable",
     R"(
loops f(A: out f32[4]) stage scheduled {
  channel c[1] commits=1 releases=1 over block
  bind(thread.x) for t in 0..4 {
    if t == 0 {
      async -> c[0] { A[0] = 0.0 } // here
    }
  }
})"},
};

class VerifyBrokenSync : public testing::TestWithParam<Broken> {};
TEST_P(VerifyBrokenSync, IsReportedAtItsPlace) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Placement, VerifyBrokenSync, testing::ValuesIn(kPlaces), name_of);
INSTANTIATE_TEST_SUITE_P(Sync, VerifyBrokenSync, testing::ValuesIn(kSync), name_of);

}  // namespace
}  // namespace tilewright::ir
