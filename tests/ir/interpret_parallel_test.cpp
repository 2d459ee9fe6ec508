// SPDX-License-Identifier: Apache-2.0
// Concurrent loops, threads, barriers and who shares what.
#include "run_text.h"

namespace tilewright::ir {
namespace {

TEST(InterpretParallel, AThreadReadsNothingUnwritten) {
  EXPECT_EQ(error_of(R"(
    loops f(C: out i64[2]) stage scheduled {
      parallel for i in 0..2 { alloc t: i64[2]
                               t[0] = i
                               C[i] = t[1] }
    })",
                     {i64s({0, 0})})
                .code,
            "ir.run.uninitialised");
}

TEST(InterpretParallel, IterationsThatTouchDifferentElementsMayRunInAnyOrder) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(A: in i64[4], C: out i64[4]) stage scheduled {
      parallel for i in 0..4 { for k in 0..3 { if k == 0 { C[i] = A[i] } else { C[i] = C[i] * 2 } } }
    })",
                                {i64s({1, 2, 3, 4}), i64s({0, 0, 0, 0})}),
            (std::vector<double>{4, 8, 12, 16}));
}

TEST(InterpretParallel, ReportsTwoIterationsThatWriteOneElement) {
  const Diagnostic d = error_in_any_order(R"(
    loops f(C: inout i64[4]) stage scheduled {
      parallel for i in 0..4 {
        C[i / 2] = i
      }
    })",
                                          {i64s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_EQ(d.at.line, 4);
  EXPECT_TELLS(d, "race on `C[0]`");
  EXPECT_TELLS(d, "iteration i = 1 writes it in line 4");
  EXPECT_TELLS(d, "iteration i = 0 writes it in line 4");
}

TEST(InterpretParallel, ReportsAReadOfAnotherIterationsElement) {
  for (const std::string index : {"i - 1", "i + 1"}) {
    const Diagnostic d = error_in_any_order(R"(
      loops f(A: in i64[6], C: inout i64[6]) stage scheduled {
        parallel for i in 1..5 {
          C[i] = A[i]
          C[i] = C[)" + index + R"(] + C[i]
        }
      })",
                                            {i64s({1, 2, 3, 4, 5, 6}), i64s({0, 0, 0, 0, 0, 0})});
    EXPECT_EQ(d.code, "ir.run.race");
    EXPECT_TELLS(d, "reads it in line 5");
  }
}

TEST(InterpretParallel, AReadOfAnElementThatIsWrittenLaterIsARaceNotAValue) {
  const Diagnostic d = error_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      alloc t: i64[4]
      parallel for i in 0..4 {
        t[i] = i
        C[i] = t[3 - i]
      }
    })",
                                          {i64s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "race on `t[");
}

TEST(InterpretParallel, AReadThatNobodyWritesStaysUninitialised) {
  EXPECT_EQ(error_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      alloc t: i64[5]
      parallel for i in 0..4 {
        t[i] = i
        C[i] = t[4]
      }
    })",
                               {i64s({0, 0, 0, 0})})
                .code,
            "ir.run.uninitialised");
}

TEST(InterpretParallel, ManyMayReadWhatWasWrittenBefore) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      alloc t: i64[1]
      t[0] = 5
      parallel for i in 0..4 { C[i] = t[0] + i }
      t[0] = C[3]
      parallel for i in 0..4 { C[i] = C[i] + t[0] }
    })",
                                {i64s({0, 0, 0, 0})}),
            (std::vector<double>{13, 14, 15, 16}));
}

TEST(InterpretParallel, ManyReadersAndOneWriterRace) {
  const Diagnostic d = error_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      alloc t: i64[1]
      t[0] = 5
      parallel for i in 0..4 {
        C[i] = t[0]
        if i == 3 { t[0] = 6 }
      }
    })",
                                          {i64s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.race");
}

TEST(InterpretParallel, EachIterationOwnsWhatItAllocates) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[8]) stage scheduled {
      parallel for i in 0..2 {
        vthread for j in 0..4 {
          alloc t: i64[2] shared
          for k in 0..2 { t[k] = i * 4 + j }
          C[i * 4 + j] = t[0] + t[1]
        }
      }
    })",
                                {i64s(std::vector<double>(8))}),
            (std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14}));
}

TEST(InterpretParallel, IterationsOfVthreadsAreIndependent) {
  EXPECT_EQ(error_in_any_order(R"(
    loops f(C: inout i64[4]) stage scheduled {
      vthread for i in 0..3 { C[i + 1] = C[i] }
    })",
                               {i64s({1, 2, 3, 4})})
                .code,
            "ir.run.race");
}

TEST(InterpretParallel, PackedElementsOfOneByteRace) {
  const std::string text = R"(
    loops f(C: out i4[6]) stage scheduled {
      parallel for i in 0..3 { for k in 0..2 { C[i * 2 + k] = 1:i4 } }
    })";
  EXPECT_EQ(result_in_any_order(text, {make_array(Elem::I4, {6})}), std::vector<double>(6, 1));
  const Diagnostic d = error_in_any_order(R"(
    loops f(C: out i4[6]) stage scheduled {
      parallel for i in 0..2 { for k in 0..3 { C[i * 3 + k] = 1:i4 } }
    })",
                                          {make_array(Elem::I4, {6})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "`C[2]`");
  EXPECT_TELLS(d, "`C[3]`");
}

TEST(InterpretParallel, ManyIterationsAndNestedLoops) {
  EXPECT_EQ(result_of(R"(
    loops f(C: out i64[20000]) stage scheduled {
      parallel for i in 0..2500 { parallel for j in 0..8 { C[i * 8 + j] = i } }
      parallel for i in 0..2500 { for j in 0..8 { C[i * 8 + j] = C[i * 8 + j] + j } }
    })",
                      {i64s(std::vector<double>(20000))})[19999],
            2506);
}

/// Threads t of blocks b exchange their values through shared memory.
std::string exchange(const std::string& before, const std::string& barrier,
                     const std::string& scope = "shared", const std::string& after = "") {
  return R"(
    loops f(C: out i64[2, 4]) stage scheduled {
      bind(block.x) for b in 0..2 {
        bind(thread.x) for t in 0..4 {
          alloc s: i64[4] )" +
         scope + "\n" + before + R"(
          s[t] = b * 10 + t
          )" +
         barrier + R"(
          C[b, t] = s[3 - t]
          )" +
         after + R"(
        }
      }
    })";
}
const std::vector<double> kExchanged = {3, 2, 1, 0, 13, 12, 11, 10};

TEST(InterpretParallel, ABarrierOrdersTheThreadsOfABlock) {
  EXPECT_EQ(result_in_any_order(exchange("", "barrier block"), {make_array(Elem::I64, {2, 4})}),
            kExchanged);
  const Diagnostic d = error_in_any_order(exchange("", ""), {make_array(Elem::I64, {2, 4})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "block.x b = 0, thread.x t =");
}

TEST(InterpretParallel, ThreadsOfAWarpMeetInSmallBlocks) {
  EXPECT_EQ(
      result_in_any_order(exchange("", "barrier warp", "warp"), {make_array(Elem::I64, {2, 4})}),
      kExchanged);
}

TEST(InterpretParallel, AWarpIsThirtyTwoThreads) {
  const auto shift = [](const std::string& by) {
    return R"(
    loops f(C: out i64[96]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..96 {
          alloc s: i64[96] shared
          s[t] = t
          barrier warp
          C[t] = s[)" +
           by + R"(]
        }
      }
    })";
  };
  EXPECT_EQ(result_of(shift("t / 32 * 32 + (t + 1) % 32"), {i64s(std::vector<double>(96))})[31], 0);
  EXPECT_EQ(error_in_any_order(shift("(t + 1) % 96"), {i64s(std::vector<double>(96))}, 5).code,
            "ir.run.race");
}

TEST(InterpretParallel, SharedMemoryBelongsToOneBlock) {
  EXPECT_EQ(
      error_in_any_order(exchange("", "barrier block", "global"), {make_array(Elem::I64, {2, 4})})
          .code,
      "ir.run.race");
}

TEST(InterpretParallel, AnAllocationInALoopIsOneInstancePerIteration) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..4 {
          C[t] = 0
          for k in 0..3 {
            alloc s: i64[4] shared
            s[t] = t + k
            barrier block
            C[t] = C[t] + s[3 - t]
          }
        }
      }
    })",
                                {i64s({0, 0, 0, 0})}),
            (std::vector<double>{12, 9, 6, 3}));
}

TEST(InterpretParallel, ThreadLoopsInARowAreOrdered) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[2, 4]) stage scheduled {
      bind(block.x) for b in 0..2 {
        alloc s: i64[4] shared
        bind(thread.x) for t in 0..4 { s[t] = b * 10 + t }
        bind(thread.x) for u in 0..4 { C[b, u] = s[3 - u] }
      }
    })",
                                {make_array(Elem::I64, {2, 4})}),
            kExchanged);
}

TEST(InterpretParallel, ThreadsHaveThreeAxes) {
  EXPECT_EQ(result_in_any_order(R"(
    loops f(C: out i64[2, 2]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.y) for y in 0..2 {
          bind(thread.x) for x in 0..2 {
            alloc s: i64[2, 2] shared
            alloc g: i64[4] register layout (i) -> [lane: i] extents [4]
            g[y * 2 + x] = y * 10 + x
            s[y, x] = g[y * 2 + x]
            barrier block
            C[y, x] = s[x, y]
          }
        }
      }
    })",
                                {make_array(Elem::I64, {2, 2})}),
            (std::vector<double>{0, 10, 1, 11}));
}

TEST(InterpretParallel, ReportsAThreadThatDoesNotComeToTheBarrier) {
  const Diagnostic d = error_in_any_order(R"(
    loops f(C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        bind(thread.x) for t in 0..4 {
          C[t] = t
          if t < 3 {
            barrier block
          }
        }
      }
    })",
                                          {i64s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.deadlock");
  EXPECT_EQ(d.at.line, 7);
  EXPECT_TELLS(d, "`barrier block`");
  EXPECT_TELLS(d, "3 of 4 threads have reached");
  EXPECT_TELLS(d, "1 thread ended without reaching");
}

TEST(InterpretParallel, NamedBarriersMeetAStatedNumberOfThreads) {
  const auto handover = [](const std::string& first, const std::string& second) {
    return R"(
    loops f(C: out i64[4]) stage scheduled {
      bind(block.x) for b in 0..1 {
        alloc s: i64[2] shared
        bind(thread.x) for t in 0..4 {
          if t < 2 {
            s[t] = t + 5
            barrier named "full" )" +
           first + R"(
            C[t] = 0
          } else {
            barrier named "full" )" +
           second + R"(
            C[t] = s[3 - t]
          }
        }
      }
    })";
  };
  EXPECT_EQ(result_in_any_order(handover("4", "4"), {i64s({0, 0, 0, 0})}),
            (std::vector<double>{0, 0, 6, 5}));
  EXPECT_EQ(error_of(handover("4", "3"), {i64s({0, 0, 0, 0})}).code, "ir.run.barrier");
  EXPECT_EQ(error_in_any_order(handover("5", "5"), {i64s({0, 0, 0, 0})}).code, "ir.run.deadlock");
  const Diagnostic d = error_of(handover("2", "2"), {i64s({0, 0, 0, 0})});
  EXPECT_EQ(d.code, "ir.run.barrier");
  EXPECT_TELLS(d, "more than 2 threads may meet at barrier \"full\"");
  for (uint64_t seed = 1; seed < 20; ++seed)  // a race, or who meets whom is not fixed
    error_of(handover("2", "2"), {i64s({0, 0, 0, 0})}, {}, {.seed = seed});
}

std::string over_blocks(const std::string& barrier) {
  return R"(
    loops f(C: out i64[2, 2]) stage scheduled {
      alloc g: i64[2, 2]
      bind(block.x) for b in 0..2 {
        bind(thread.x) for t in 0..2 {
          g[b, t] = b * 10 + t
          )" +
         barrier + R"(
          C[b, t] = g[1 - b, t]
        }
      }
    })";
}

TEST(InterpretParallel, AGridBarrierOrdersAllBlocks) {
  EXPECT_EQ(result_in_any_order(over_blocks("barrier grid"), {make_array(Elem::I64, {2, 2})}),
            (std::vector<double>{10, 11, 0, 1}));
  EXPECT_EQ(error_in_any_order(over_blocks("barrier block"), {make_array(Elem::I64, {2, 2})}).code,
            "ir.run.race");
  // Each reads its own element, so that the missing arrivals are all that is wrong.
  std::string own = over_blocks("if b == 0 { barrier grid }");
  own.replace(own.find("g[1 - b, t]"), 11, "g[b, t]");
  const Diagnostic d = error_of(own, {make_array(Elem::I64, {2, 2})});
  EXPECT_EQ(d.code, "ir.run.deadlock");
  EXPECT_TELLS(d, "threads have reached");
  EXPECT_TELLS(d, "ended without reaching the barrier");
}

std::string cluster(const std::string& first, const std::string& second,
                    const std::string& rank = "1 - r") {
  return R"(
    loops f(C: out i64[2, 2]) stage scheduled {
      bind(block.x) for b in 0..2 {
        bind(cluster.x) for r in 0..2 {
          alloc s: i64[1] shared
          bind(thread.x) for t in 0..1 {
            s[0] = b * 10 + r
            )" +
         first + R"(
            C[b, r] = s@()" +
         rank + R"()[0]
            )" +
         second + R"(
          }
        }
      }
    })";
}

TEST(InterpretParallel, BlocksOfAClusterReachEachOthersMemory) {
  EXPECT_EQ(result_in_any_order(cluster("barrier cluster", "barrier cluster"),
                                {make_array(Elem::I64, {2, 2})}),
            (std::vector<double>{1, 0, 11, 10}));
  EXPECT_EQ(
      error_in_any_order(cluster("", "barrier cluster"), {make_array(Elem::I64, {2, 2})}).code,
      "ir.run.race");
  EXPECT_EQ(
      error_of(cluster("barrier cluster", "barrier cluster", "2"), {make_array(Elem::I64, {2, 2})})
          .code,
      "ir.run.bounds");
}

TEST(InterpretParallel, ABlocksMemoryEndsWithItsBraces) {
  const Diagnostic d =
      error_in_any_order(cluster("barrier cluster", ""), {make_array(Elem::I64, {2, 2})});
  EXPECT_EQ(d.code, "ir.run.race");
  EXPECT_TELLS(d, "the end of the buffer");
}

TEST(InterpretParallel, SkipsRacesWhenAskedTo) {
  std::vector<Array> args = {i64s({0, 0})};
  interpret(parse_function(R"(
    loops f(C: inout i64[2]) stage scheduled { parallel for i in 0..4 { C[0] = 3 } })"),
            args, {}, {.check = false});
  EXPECT_EQ(args[0].as_int(0), 3);
}

}  // namespace
}  // namespace tilewright::ir
