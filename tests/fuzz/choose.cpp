// SPDX-License-Identifier: Apache-2.0
// Default schedules of random programs in exact arithmetic:  choose [CASES] [FIRST_SEED]
#include <cstdio>
#include <cstdlib>

#include "schedule/random_schedule.h"
#include "tune/chosen.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  const uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  int wrong = 0;
  for (uint64_t seed = first; seed < first + cases && wrong < 5; ++seed) {
    schedule::Random random(seed);
    const std::string failure = tune::wrong_choice(
        lower::to_blocks(schedule::random_program(random)), tune::small_machine());
    if (failure.empty()) continue;
    ++wrong;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), failure.c_str());
  }
  std::printf("%llu programs, %d wrong\n", static_cast<unsigned long long>(cases), wrong);
  return wrong == 0 ? 0 : 1;
}
