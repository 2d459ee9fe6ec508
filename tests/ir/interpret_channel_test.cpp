// SPDX-License-Identifier: Apache-2.0
// Agents, channels, asynchronous operations and atomics.
#include "run_text.h"

namespace tilewright::ir {
namespace {

/// A producer hands 6 values over a ring of 2 slots to a consumer.
struct Ring {
  std::string produce = R"(
    acquire ring[k]
    s[k % 2] = A[k]
    commit ring[k])";
  std::string consume = R"(
    wait ring[k]
    C[k] = s[k % 2] * 2
    release ring[k])";
  std::string channel = "channel ring[2] commits=1 releases=1 over block";
  std::string producer = "load(t in 0..1)";
  std::string consumer = "compute(u in 0..1)";

  std::string text() const {
    return "loops f(A: in i64[6], C: out i64[6]) stage scheduled {\n"
           "bind(block.x) for b in 0..1 {\n alloc s: i64[2] shared\n " +
           channel + "\n agents {\n " + producer + ": { for k in 0..6 {" + produce + "\n} }\n " +
           consumer + ": { for k in 0..6 {" + consume + "\n} }\n } } }";
  }
};
std::vector<Array> arrays() { return {i64s({1, 2, 3, 4, 5, 6}), i64s(std::vector<double>(6))}; }
const std::vector<double> kDoubled = {2, 4, 6, 8, 10, 12};

TEST(InterpretChannel, HandsItemsOver) {
  EXPECT_EQ(result_in_any_order(Ring().text(), arrays()), kDoubled);
}

TEST(InterpretChannel, WithoutAWaitTheConsumerRaces) {
  const Diagnostic d =
      error_in_any_order(Ring{.consume = "C[k] = s[k % 2] * 2\n release ring[k]"}.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "agent load");
  EXPECT_TELLS(d, "agent compute");
}

TEST(InterpretChannel, WithoutAnAcquireTheProducerRaces) {
  EXPECT_EQ(
      error_in_any_order(Ring{.produce = "s[k % 2] = A[k]\n commit ring[k]"}.text(), arrays()).code,
      "ir.run.race");
}

TEST(InterpretChannel, ACommitBeforeTheStoreRaces) {
  EXPECT_EQ(
      error_in_any_order(
          Ring{.produce = "acquire ring[k]\n commit ring[k]\n s[k % 2] = A[k]"}.text(), arrays())
          .code,
      "ir.run.race");
}

TEST(InterpretChannel, AReleaseBeforeTheLoadRaces) {
  EXPECT_EQ(
      error_in_any_order(
          Ring{.consume = "wait ring[k]\n release ring[k]\n C[k] = s[k % 2] * 2"}.text(), arrays())
          .code,
      "ir.run.race");
}

TEST(InterpretChannel, OneSlotLessThanTheRingRaces) {
  Ring ring;
  ring.channel = "channel ring[3] commits=1 releases=1 over block";
  EXPECT_EQ(error_in_any_order(ring.text(), arrays()).code, "ir.run.race");
}

TEST(InterpretChannel, AMissingReleaseStopsTheProducer) {
  const Diagnostic d =
      error_in_any_order(Ring{.consume = "wait ring[k]\n C[k] = s[k % 2] * 2"}.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.deadlock");
  EXPECT_TELLS(d, "`acquire ring[2]`");
  EXPECT_TELLS(d, "item 0 has 0 of 1 releases");
  EXPECT_TELLS(d, "agent load");
}

TEST(InterpretChannel, AMissingCommitStopsTheConsumer) {
  const Diagnostic d = error_in_any_order(
      Ring{.produce = "acquire ring[k]\n s[k % 2] = A[k]\n if k != 3 { commit ring[k] }"}.text(),
      arrays());
  EXPECT_EQ(d.code, "ir.run.deadlock");
  EXPECT_TELLS(d, "`wait ring[3]`");
  EXPECT_TELLS(d, "item 3 has 0 of 1 commits");
}

TEST(InterpretChannel, AnItemNumberOffByTheRingStops) {
  EXPECT_EQ(
      error_in_any_order(
          Ring{.consume = "wait ring[k + 2]\n C[k] = s[k % 2] * 2\n release ring[k + 2]"}.text(),
          arrays())
          .code,
      "ir.run.deadlock");
}

TEST(InterpretChannel, ItemsOfOneAgentGrow) {
  const Diagnostic d = error_in_any_order(
      Ring{.consume = "wait ring[k / 2]\n C[k] = s[k % 2]\n release ring[k]"}.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "`wait` of item 0 of `ring` after item 0");
}

TEST(InterpretChannel, ItemsAreNotNegative) {
  const Diagnostic d = error_in_any_order(Ring{.produce = "acquire ring[k - 1]"}.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "`acquire ring[-1]`");
}

TEST(InterpretChannel, MoreCommitsOrReleasesThanDeclaredAreWrong) {
  Ring ring;
  ring.consumer = "compute[c in 0..2](u in 0..1)";
  ring.consume = "wait ring[k]\n if c == 0 { C[k] = s[k % 2] * 2 }\n release ring[k]";
  const Diagnostic d = error_of(ring.text(), arrays());  // in other orders a race comes first
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "more than 1 releases");
}

TEST(InterpretChannel, BroadcastsToAsManyConsumersAsRelease) {
  Ring ring;
  ring.channel = "channel ring[2] commits=1 releases=3 over block";
  ring.consumer = "compute[c in 0..3](u in 0..1)";
  ring.consume = "wait ring[k]\n if c == k % 3 { C[k] = s[k % 2] * 2 }\n release ring[k]";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), kDoubled);
}

TEST(InterpretChannel, SharesWorkByDisjointItems) {
  Ring ring;
  ring.consumer = "compute[c in 0..2](u in 0..1)";
  ring.consume = "if k % 2 == c { wait ring[k]\n C[k] = s[k % 2] * 2\n release ring[k] }";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), kDoubled);
}

TEST(InterpretChannel, AnItemNeedsAllItsCommits) {
  Ring ring;
  ring.channel = "channel ring[2] commits=2 releases=1 over block";
  EXPECT_EQ(error_in_any_order(ring.text(), arrays()).code, "ir.run.deadlock");
}

TEST(InterpretChannel, AcquiredItemsAreReleasedAtTheEnd) {
  const Diagnostic d = error_in_any_order(
      Ring{.consume = "wait ring[k]\n C[k] = s[k % 2] * 2\n if k < 5 { release ring[k] }"}.text(),
      arrays());
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "`ring[5]` is not released");
  EXPECT_TELLS(d, "0 of 1 releases");
}

TEST(InterpretChannel, AnOperationHappensWhenAllThreadsOfTheAgentHaveCome) {
  Ring ring;
  ring.producer = "load(t in 0..4)";
  ring.produce = R"(
    acquire ring[k]
    if t == k % 4 { s[k % 2] = A[k] }
    commit ring[k])";
  ring.consumer = "compute(u in 0..3)";
  ring.consume = R"(
    wait ring[k]
    if u == k % 3 { C[k] = s[k % 2] * 2 }
    release ring[k])";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), kDoubled);
}

TEST(InterpretChannel, ACommitDoesNotOrderTheThreadsOfItsOwnAgent) {
  Ring ring;
  ring.producer = "load(t in 0..2)";
  ring.produce = R"(
    acquire ring[k]
    if t == k % 2 { s[k % 2] = A[k] }
    commit ring[k]
    if t != k % 2 { if s[k % 2] == 0 { } })";
  EXPECT_EQ(error_in_any_order(ring.text(), arrays()).code, "ir.run.race");
}

TEST(InterpretChannel, ThreadsOfOneAgentDoTheSameOperations) {
  Ring ring;
  ring.producer = "load(t in 0..2)";
  ring.produce = R"(
    acquire ring[k]
    if t == 0 { s[k % 2] = A[k] }
    if t == 0 || k < 5 { commit ring[k] })";
  EXPECT_EQ(error_of(ring.text(), arrays()).code, "ir.run.deadlock");
  ring.produce = R"(
    if t == 0 { s[k % 2] = A[k] }
    if t == 0 { acquire ring[k]
                commit ring[k] } else { commit ring[k]
                                        acquire ring[k] })";
  const Diagnostic d = error_in_any_order(ring.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "different channel operations");
}

TEST(InterpretChannel, TheThreadsOfABlockAreOneAgent) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(A: in i64[4], C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..2 {
        alloc s: i64[2] shared
        channel ch[1] commits=1 releases=1 over block
        bind(thread.x) for t in 0..2 {
          for k in 0..2 {
            acquire ch[k]
            s[t] = A[b * 2 + t] + k
            commit ch[k]
            wait ch[k]
            if k == 1 { C[b * 2 + t] = s[1 - t] }
            release ch[k]
          }
        }
      }
    })",
                                {i64s({1, 2, 3, 4}), i64s({0, 0, 0, 0})}),
            (std::vector<double>{3, 2, 5, 4}));
}

TEST(InterpretChannel, AgentsSeeWhatWasWrittenBeforeAndAreSeenAfter) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        alloc s: i64[4] shared
        for i in 0..4 { s[i] = i }
        agents {
          low(t in 0..2): { s[t] = s[t] + s[2] }
          high(t in 0..1): { C[3] = s[2] }
        }
        for i in 0..3 { C[i] = s[i] }
      }
    })",
                                {i64s({0, 0, 0, 0})}),
            (std::vector<double>{2, 3, 2, 2}));
}

TEST(InterpretChannel, ThreadsOfAnAgentComeToTheSameItem) {
  const Diagnostic d = error_of(R"(
    loops f(C: out i64[2]) stage scheduled {
      bind(block.x) for b in 0..1 {
        channel ch[2] commits=1 releases=1 over block
        agents {
          one(t in 0..2): { acquire ch[t]
                            C[t] = t
                            commit ch[t] }
        }
      }
    })",
                                {i64s({0, 0})});
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "different channel operations");
}

TEST(InterpretChannel, AgentsThatShareAnElementRace) {
  EXPECT_EQ(error_in_any_order(R"(
    loops f(C: out i64[1]) stage scheduled {
      bind(block.x) for b in 0..1 {
        agents { one(t in 0..1): { C[0] = 1 } two(t in 0..1): { C[0] = 2 } }
      }
    })",
                               {i64s({0})})
                .code,
            "ir.run.race");
}

TEST(InterpretChannel, BarriersOfAgents) {
  const auto agents = [](const std::string& barrier) {
    return R"(
    loops f(C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        alloc s: i64[4] shared
        agents {
          one(t in 0..2): { s[t] = t
                            )" +
           barrier + R"(
                            C[t] = s[1 - t] }
          two(u in 0..2): { s[2 + u] = u
                            )" +
           barrier + R"(
                            C[2 + u] = s[3 - u] }
        }
      }
    })";
  };
  EXPECT_EQ(result_in_any_order(agents("barrier agent"), {i64s({0, 0, 0, 0})}),
            (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(result_in_any_order(agents("barrier block"), {i64s({0, 0, 0, 0})}),
            (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(error_in_any_order(agents(""), {i64s({0, 0, 0, 0})}).code, "ir.run.race");
}

/// The producer copies by an asynchronous operation.
Ring async_ring() {
  Ring ring;
  ring.produce = R"(
    acquire ring[k]
    async -> ring[k] { s[k % 2] = A[k] }
    commit ring[k] bytes 8)";
  return ring;
}

TEST(InterpretAsync, RunsBetweenTheIssueAndTheFullItem) {
  EXPECT_EQ(result_in_any_order(async_ring().text(), arrays()), kDoubled);
}

TEST(InterpretAsync, MayBeIssuedAfterTheCommitOfItsBytes) {
  Ring ring = async_ring();
  ring.produce = "acquire ring[k]\n commit ring[k] bytes 8\n async -> ring[k] { s[k % 2] = A[k] }";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), kDoubled);
}

TEST(InterpretAsync, IsIssuedOncePerAgent) {
  Ring ring = async_ring();
  ring.producer = "load(t in 0..4)";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), kDoubled);
}

TEST(InterpretAsync, IsIssuedByEachThreadThatItNames) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(A: in i64[4], C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        alloc s: i64[4] shared
        channel ch[1] commits=1 releases=1 over block
        bind(thread.x) for t in 0..4 {
          acquire ch[0]
          let from = 3 - t
          async -> ch[0] { s[from] = A[from] }
          commit ch[0] bytes 32
          wait ch[0]
          C[t] = s[t]
          release ch[0]
        }
      }
    })",
                                {i64s({1, 2, 3, 4}), i64s({0, 0, 0, 0})}),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(InterpretAsync, DeliversExactlyTheCommittedBytes) {
  Ring ring = async_ring();
  ring.produce = "acquire ring[k]\n async -> ring[k] { s[k % 2] = A[k] }\n commit ring[k] bytes 4";
  Diagnostic d = error_in_any_order(ring.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "`ring[0]` receives 8 bytes and was committed with 4");
  ring.produce = "acquire ring[k]\n async -> ring[k] { s[k % 2] = A[k] }\n commit ring[k] bytes 16";
  d = error_in_any_order(ring.text(), arrays());
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "receives 8 bytes and was committed with 16");
}

TEST(InterpretAsync, DeliversTheStatedBytes) {
  Ring ring = async_ring();
  ring.produce =
      "acquire ring[k]\n async -> ring[k] bytes 24 { s[k % 2] = A[k] }\n commit ring[k] bytes 24";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), kDoubled);
}

TEST(InterpretAsync, TheIssuerMayNotTouchItsTargetsBeforeTheWait) {
  Ring ring = async_ring();
  ring.produce = R"(
    acquire ring[k]
    async -> ring[k] { s[k % 2] = A[k] }
    s[k % 2] = 0
    commit ring[k] bytes 8)";
  EXPECT_EQ(error_in_any_order(ring.text(), arrays()).code, "ir.run.race");
}

TEST(InterpretAsync, SeesWhatItsIssuerWroteBefore) {
  Ring ring = async_ring();
  ring.produce = R"(
    acquire ring[k]
    s[k % 2] = A[k]
    async -> ring[k] { s[k % 2] = s[k % 2] + 1 }
    commit ring[k] bytes 8)";
  EXPECT_EQ(result_in_any_order(ring.text(), arrays()), (std::vector<double>{4, 6, 8, 10, 12, 14}));
}

/// The consumer multiplies by an asynchronous operation that reads the ring's slot.
Ring async_consumer(const std::string& order) {
  Ring ring;
  ring.channel =
      "channel ring[2] commits=1 releases=1 over block\n"
      "channel group[1] commits=1 releases=1 over block";
  ring.consume =
      "wait ring[k]\n acquire group[k]\n async -> group[k] { C[k] = s[k % 2] * 2 }\n" + order;
  return ring;
}

TEST(InterpretAsync, ASlotIsReleasedAfterTheOperationThatReadsIt) {
  EXPECT_EQ(result_in_any_order(async_consumer("commit group[k] bytes 8\n wait group[k]\n"
                                               "release group[k]\n release ring[k]")
                                    .text(),
                                arrays()),
            kDoubled);
  const Diagnostic d = error_in_any_order(
      async_consumer("commit group[k] bytes 8\n release ring[k]\n wait group[k]\n release group[k]")
          .text(),
      arrays());
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "the async operation of item");
}

TEST(InterpretAsync, AnOperationWithoutBytesIsIssuedBeforeTheCommit) {
  const auto text = [](const std::string& body) {
    return R"(
    loops f(C: out i64[1]) stage scheduled {
      bind(block.x) for b in 0..1 {
        agents {
          one(t in 0..1): {
            channel ch[1] commits=1 releases=1 over agent
            alloc x: i64[] register
            acquire ch[0]
            )" +
           body + R"(
            wait ch[0]
            C[0] = x[]
            release ch[0]
          }
        }
      }
    })";
  };
  EXPECT_EQ(result_in_any_order(text("async -> ch[0] { x[] = 3 }\n commit ch[0]"), {i64s({0})}),
            (std::vector<double>{3}));
  const Diagnostic d =
      error_in_any_order(text("commit ch[0]\n async -> ch[0] { x[] = 3 }"), {i64s({0})});
  EXPECT_EQ(d.code, "ir.run.channel");
  EXPECT_TELLS(d, "already full");
}

TEST(InterpretAsync, ABufferOutlivesTheOperationsThatUseIt) {
  const Diagnostic d = error_in_any_order(R"(
    loops f(A: in i64[1], C: out i64[1]) stage scheduled {
      channel ch[1] commits=1 releases=1 over block
      {
        alloc s: i64[1]
        s[0] = A[0]
        async -> ch[0] { C[0] = s[0] }
        commit ch[0] bytes 8
      }
      wait ch[0]
    })",
                                          {i64s({5}), i64s({0})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "`s` with the end of the buffer");
}

TEST(InterpretAsync, RunsOutsideOfThreadsToo) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(A: in i64[4], C: out i64[4]) stage scheduled {
      alloc s: i64[2]
      channel ch[2] commits=1 releases=1 over block
      for k in 0..5 {
        if k < 4 {
          acquire ch[k]
          async -> ch[k] { s[k % 2] = A[k] }
          commit ch[k] bytes 8
        }
        if k > 0 {
          wait ch[k - 1]
          C[k - 1] = s[(k - 1) % 2]
          release ch[k - 1]
        }
      }
    })",
                                {i64s({1, 2, 3, 4}), i64s({0, 0, 0, 0})}),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(InterpretAtomic, CombinesWithoutARace) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(A: in i64[4], C: inout i64[3]) stage scheduled {
      parallel for i in 0..4 {
        atomic add (C[0], A[i])
        atomic max (C[1], A[i])
        atomic min (C[2], A[i])
      }
    })",
                                {i64s({3, 9, 2, 4}), i64s({0, 0, 5})}),
            (std::vector<double>{18, 9, 2}));
}

TEST(InterpretAtomic, GivesTheOldValue) {
  EXPECT_EQ(result_of(R"(
    loops f(C: inout i64[4]) stage scheduled {
      alloc old: i64[] register
      atomic exchange (C[0], 7) -> old
      C[1] = old[]
      atomic compare_exchange (C[0], 8, 7) -> old
      C[2] = old[]
      atomic compare_exchange (C[0], 9, 7) -> old
      C[3] = old[]
    })",
                      {i64s({5, 0, 0, 0})}),
            (std::vector<double>{8, 5, 7, 8}));
}

TEST(InterpretAtomic, RacesWithPlainAccesses) {
  for (const std::string plain : {"C[0] = 1", "C[1] = C[0]"}) {
    const Diagnostic d = error_in_any_order(R"(
      loops f(C: inout i64[2]) stage scheduled {
        parallel for i in 0..2 {
          if i == 0 { atomic add (C[0], 1) } else { )" +
                                                plain + R"( }
        }
      })",
                                            {i64s({0, 0})});
    EXPECT_EQ(d.code, "ir.run.race");
    EXPECT_TELLS(d, "changes atomically");
  }
}

/// Thread 0 writes data and raises a flag, thread 1 spins on the flag and reads the data.
std::string flag(const std::string& release, const std::string& acquire) {
  return R"(
    loops f(C: out i64[1]) stage scheduled {
      alloc data: i64[1]
      alloc ready: i64[1]
      ready[0] = 0
      bind(block.x) for b in 0..2 {
        bind(thread.x) for t in 0..1 {
          if b == 1 {
            data[0] = 42
            atomic add )" +
         release + R"( (ready[0], 1)
          } else {
            alloc seen: i64[] register
            seen[] = 0
            while seen[] == 0 { atomic add )" +
         acquire + R"( (ready[0], 0) -> seen }
            C[0] = data[0]
          }
        }
      }
    })";
}

TEST(InterpretAtomic, ReleaseAndAcquireOrder) {
  EXPECT_EQ(result_in_any_order(flag("release", "acquire"), {i64s({0})}),
            (std::vector<double>{42}));
  EXPECT_EQ(error_in_any_order(flag("relaxed", "acquire"), {i64s({0})}).code, "ir.run.race");
  EXPECT_EQ(error_in_any_order(flag("release", "relaxed"), {i64s({0})}).code, "ir.run.race");
}

TEST(InterpretAtomic, EndsASpinThatNobodyEnds) {
  EXPECT_EQ(error_of(R"(
    loops f() stage scheduled {
      alloc flag: i64[1]
      flag[0] = 0
      parallel for i in 0..2 {
        alloc seen: i64[] register
        seen[] = 0
        while seen[] == 0 { atomic add acquire (flag[0], 0) -> seen }
      }
    })",
                     {}, {}, {.max_steps = 100000})
                .code,
            "ir.run.limit");
}

TEST(InterpretChannel, NamesTheChannelOfAnotherBlock) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[2]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(cluster.x) for r in 0..2 {
          alloc s: i64[1] shared
          channel ch[1] commits=1 releases=1 over cluster
          bind(thread.x) for t in 0..1 {
            barrier cluster
            acquire ch@(1 - r)[0]
            s@(1 - r)[0] = r + 5
            commit ch@(1 - r)[0]
            wait ch[0]
            C[r] = s[0]
            release ch[0]
          }
        }
      }
    })",
                                {i64s({0, 0})}),
            (std::vector<double>{6, 5}));
}

}  // namespace
}  // namespace tilewright::ir
