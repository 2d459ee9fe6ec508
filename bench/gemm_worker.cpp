// SPDX-License-Identifier: Apache-2.0
// One contender of bench/kernels.py: our GEMM in a process of its own.
//   gemm_worker M N K ROWS VECTORS
// Prints "ready", then for each line "SECONDS" on standard input the seconds of every call it made
// in that time, on one line.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gemm.h"
#include "measure.h"
#include "target/host.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc != 6) {
    std::fprintf(stderr, "usage: gemm_worker M N K ROWS VECTORS\n");
    return 1;
  }
  const int64_t m = std::atoll(argv[1]), n = std::atoll(argv[2]), k = std::atoll(argv[3]);
  const ir::TargetSpec& spec = target::host_target();
  const auto kernel = driver::compile_kernel(
      bench::schedule_gemm(m, n, k, {std::atoll(argv[4]), std::atoll(argv[5]), 4}, spec).func(),
      spec);
  const auto floats = [](int64_t count) {
    auto* p = static_cast<float*>(
        std::aligned_alloc(64, (static_cast<size_t>(count) * 4 + 63) / 64 * 64));
    for (int64_t i = 0; i < count; ++i) p[i] = static_cast<float>(i % 13) - 6.0f;
    return p;
  };
  void* buffers[] = {floats(m * k), floats(n * k), floats(m * n)};
  for (int i = 0; i < 3; ++i) kernel.call(buffers);
  std::printf("ready\n");
  std::fflush(stdout);
  double seconds = 0;
  while (std::scanf("%lf", &seconds) == 1) {
    std::vector<double> times;
    const double end = bench::now() + seconds;
    while (times.size() < 3 || bench::now() < end) {
      const double start = bench::now();
      kernel.call(buffers);
      times.push_back(bench::now() - start);
    }
    for (size_t i = 1; i < times.size(); ++i) std::printf("%.9f ", times[i]);
    std::printf("\n");
    std::fflush(stdout);
  }
}
