// SPDX-License-Identifier: Apache-2.0
// Random programs × random schedules in exact arithmetic:  schedules [CASES] [FIRST_SEED]
#include <cstdio>
#include <cstdlib>

#include "schedule/random_schedule.h"

int main(int argc, char** argv) {
  const uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  uint64_t accepted = 0, lowered = 0;
  int wrong = 0;
  for (uint64_t i = 0; i < cases && wrong < 10; ++i) {
    const auto result = tilewright::schedule::check_random_case(first + i, true);
    accepted += static_cast<uint64_t>(result.accepted);
    lowered += result.lowered;
    if (!result.failure.empty()) {
      ++wrong;
      std::printf("%s\n", result.failure.c_str());
      std::fflush(stdout);
    }
    if ((i + 1) % 10000 == 0) {
      std::fprintf(stderr, "\r%llu of %llu, %llu steps, %d wrong",
                   static_cast<unsigned long long>(i + 1), static_cast<unsigned long long>(cases),
                   static_cast<unsigned long long>(accepted), wrong);
    }
  }
  std::printf("\n%llu programs, %llu steps accepted, %llu lowered, %d wrong\n",
              static_cast<unsigned long long>(cases), static_cast<unsigned long long>(accepted),
              static_cast<unsigned long long>(lowered), wrong);
  return wrong == 0 ? 0 : 1;
}
