// SPDX-License-Identifier: Apache-2.0
// The cost of a parallel loop, as JSON: hand-off to a spinning worker and back, hand-off to a
// sleeping one, and a loop whose work the caller may do alone.
#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// Both chunks must run at the same time for the loop to end, so the other worker has really been
/// reached.
void meet(tilewright::runtime::ThreadPool& pool) {
  std::atomic<int> arrived{0};
  pool.parallel_for(2, [&](int64_t, int64_t, int32_t) {
    arrived.fetch_add(1, std::memory_order_acq_rel);
    while (arrived.load(std::memory_order_acquire) < 2) {
    }
  });
}

template <class F>
nlohmann::json microseconds(int rounds, F&& f) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(f());
  std::sort(times.begin(), times.end());
  const auto at = [&](double q) { return times[static_cast<size_t>(q * (rounds - 1))]; };
  return {{"q20", at(0.2)}, {"median", at(0.5)}, {"q99", at(0.99)}};
}

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

int main() {
  tilewright::runtime::ThreadPool pool(2);
  for (int i = 0; i < 1000; ++i) meet(pool);
  nlohmann::json out;
  out["hot_hand_off_us"] = microseconds(20000, [&] {
    const auto start = Clock::now();
    meet(pool);
    return since(start);
  });
  out["cold_hand_off_us"] = microseconds(300, [&] {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    const auto start = Clock::now();
    meet(pool);
    return since(start);
  });
  out["empty_loop_us"] = microseconds(20000, [&] {
    const auto start = Clock::now();
    pool.parallel_for(16, [](int64_t, int64_t, int32_t) {});
    return since(start);
  });
  std::printf("%s\n", out.dump(2).c_str());
}
