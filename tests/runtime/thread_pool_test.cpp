// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_pool.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tilewright::runtime {
namespace {

/// How often each iteration ran.
std::vector<int> counts(ThreadPool& pool, int64_t n) {
  std::vector<int> seen(static_cast<size_t>(n), 0);
  pool.parallel_for(n, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  return seen;
}

TEST(ThreadPool, RunsEveryIterationOnce) {
  for (const int workers : {1, 2, 3, 7}) {
    ThreadPool pool(workers);
    for (const int64_t n : {0, 1, 2, 3, 15, 16, 17, 1000}) {
      SCOPED_TRACE(testing::Message() << workers << " workers, " << n << " iterations");
      EXPECT_EQ(counts(pool, n), std::vector<int>(static_cast<size_t>(n), 1));
    }
  }
}

TEST(ThreadPool, MillionsOfIterationsHaveNoGap) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  const int64_t n = int64_t{1} << 61;  // count * chunk must not overflow
  pool.parallel_for(n, [&](int64_t begin, int64_t end, int32_t) { sum += end - begin; });
  EXPECT_EQ(sum.load(), n);
}

TEST(ThreadPool, WorkersAreInRangeAndNeverTwiceAtOnce) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> inside(3);
  std::atomic<bool> bad{false};
  for (int round = 0; round < 200; ++round)
    pool.parallel_for(24, [&](int64_t, int64_t, int32_t worker) {
      if (worker < 0 || worker >= 3 || inside[static_cast<size_t>(worker)]++ != 0) bad = true;
      inside[static_cast<size_t>(worker)]--;
    });
  EXPECT_FALSE(bad);
}

TEST(ThreadPool, WritesAreVisibleAfterwards) {
  ThreadPool pool(2);
  std::vector<int64_t> data(64);
  for (int64_t round = 1; round <= 20000; ++round) {
    pool.parallel_for(64, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) data[static_cast<size_t>(i)] += i;
    });
    ASSERT_EQ(std::accumulate(data.begin(), data.end(), int64_t{0}), round * 64 * 63 / 2);
  }
}

TEST(ThreadPool, WakesAfterSleeping) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than workers spin
    EXPECT_EQ(counts(pool, 100), std::vector<int>(100, 1));
  }
}

TEST(ThreadPool, WorkersLeaveTheCallersCpu) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one CPU";
  ThreadPool pool(2);
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof here, &here);
  // The worker is tied to the caller's CPU once, and has gone away from it by a later loop.
  std::atomic<bool> tied = false, apart = false;
  for (int i = 0; i < 2000 && !apart; ++i)
    pool.parallel_for(2, [&](int64_t, int64_t, int32_t worker) {
      if (worker == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else if (!tied.exchange(true)) {
        sched_setaffinity(0, sizeof here, &here);
      } else if (!CPU_ISSET(sched_getcpu(), &here)) {
        apart = true;
      }
    });
  sched_setaffinity(0, sizeof all, &all);
  EXPECT_TRUE(apart);
}

TEST(ThreadPool, CallerSleepsUntilALongTaskEnds) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.parallel_for(2, [&](int64_t, int64_t, int32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(done == 0 ? 5 : 1));
    ++done;
  });
  EXPECT_EQ(done, 2);
}

TEST(ThreadPool, NestedLoopRunsInTheSameWorker) {
  ThreadPool pool(2);
  std::atomic<int64_t> inner{0};
  std::atomic<bool> moved{false};
  pool.parallel_for(10, [&](int64_t begin, int64_t end, int32_t outer_worker) {
    for (int64_t i = begin; i < end; ++i)
      pool.parallel_for(5, [&](int64_t b, int64_t e, int32_t worker) {
        if (worker != outer_worker) moved = true;
        inner += e - b;
      });
  });
  EXPECT_EQ(inner, 50);
  EXPECT_FALSE(moved);
}

TEST(ThreadPool, SeveralCallersShareOnePool) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round)
        if (counts(pool, 33) != std::vector<int>(33, 1)) ++wrong;
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, MoreWorkersThanCpusFinish) {
  ThreadPool pool(4 * available_cpus());
  for (int round = 0; round < 300; ++round) ASSERT_EQ(counts(pool, 257), std::vector<int>(257, 1));
}

TEST(ThreadPool, HostAdapterRunsOnThePool) {
  ThreadPool pool(2);
  const tw_host host = pool.host();
  EXPECT_EQ(host.workers, 2);
  int64_t sum[2] = {0, 0};
  host.parallel_for(
      host.context, 100,
      [](void* closure, int64_t begin, int64_t end, int32_t worker) {
        for (int64_t i = begin; i < end; ++i) static_cast<int64_t*>(closure)[worker] += i;
      },
      sum);
  EXPECT_EQ(sum[0] + sum[1], 4950);
}

}  // namespace
}  // namespace tilewright::runtime
