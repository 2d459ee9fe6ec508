// SPDX-License-Identifier: Apache-2.0
// The machine itself as a contender: a loop of FMAs on registers, shared by several threads.
//   fma_worker THREADS ITERATIONS
#include <cstdio>
#include <cstdlib>

#include "measure.h"
#include "runtime/thread_pool.h"
#include "serve.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fma_worker THREADS ITERATIONS\n");
    return 1;
  }
  const int threads = std::atoi(argv[1]);
  const int64_t share = std::atoll(argv[2]) / threads;
  tilewright::runtime::ThreadPool pool(threads);
  const bench::FmaLoop loop = bench::fma_loop();
  bench::serve([&] {
    pool.parallel_for(
        threads, [&](int64_t begin, int64_t end, int32_t) { loop.run((end - begin) * share); });
  });
}
