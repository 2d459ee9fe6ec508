// SPDX-License-Identifier: Apache-2.0
// Random programs × schedules through LLVM against the interpreter:  native [CASES] [FIRST_SEED]
#include <cstdio>
#include <cstdlib>

#include "target/llvm/random_native.h"

int main(int argc, char** argv) {
  const uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  int wrong = 0;
  for (uint64_t i = 0; i < cases && wrong < 5; ++i) {
    const std::string failure =
        tilewright::target::llvm::check_native_case(first + i, tilewright::target::host_target());
    if (!failure.empty()) {
      ++wrong;
      std::printf("%s\n", failure.c_str());
      std::fflush(stdout);
    }
    if ((i + 1) % 200 == 0)
      std::fprintf(stderr, "\r%llu of %llu, %d wrong", static_cast<unsigned long long>(i + 1),
                   static_cast<unsigned long long>(cases), wrong);
  }
  std::printf("\n%llu programs through LLVM, %d wrong\n", static_cast<unsigned long long>(cases),
              wrong);
  return wrong == 0 ? 0 : 1;
}
