// SPDX-License-Identifier: Apache-2.0
#include "support/in_parallel.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

namespace tilewright {
namespace {

TEST(InParallel, CallsEachOnce) {
  for (const int threads : {0, 1, 3})
    for (const size_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> calls(count);
      in_parallel(count, threads, [&](size_t i) { ++calls[i]; });
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << i << " of " << count;
    }
}

TEST(InParallel, RethrowsAndFinishesTheOthers) {
  std::atomic<int> calls = 0;
  const auto work = [&](size_t i) {
    ++calls;
    if (i == 2) throw std::runtime_error("the third");
  };
  EXPECT_THROW(in_parallel(10, 2, work), std::runtime_error);
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace tilewright
