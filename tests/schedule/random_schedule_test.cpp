// SPDX-License-Identifier: Apache-2.0
#include "schedule/random_schedule.h"

#include <gtest/gtest.h>

namespace tilewright::schedule {
namespace {

TEST(RandomSchedules, NeverChangeResults) {
  int accepted = 0, lowered = 0, failures = 0;
  for (uint64_t seed = 1; seed <= 3000 && failures < 3; ++seed) {
    const CaseResult r = check_random_case(seed, /*lower=*/true);
    accepted += r.accepted;
    lowered += r.lowered;
    if (!r.failure.empty()) {
      ++failures;
      ADD_FAILURE() << r.failure;
    }
  }
  EXPECT_GT(accepted, 6000) << "the generator should find legal steps often";
  EXPECT_GT(lowered, 2500) << "the CPU pipeline should take most schedules";
}

}  // namespace
}  // namespace tilewright::schedule
