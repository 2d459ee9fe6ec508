// SPDX-License-Identifier: Apache-2.0
// One contender of bench/kernels.py: our GEMM in a process of its own.
//   gemm_worker M N K ROWS VECTORS
#include <cstdio>
#include <cstdlib>

#include "gemm.h"
#include "serve.h"
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
  bench::serve([&] { kernel.call(buffers); });
}
