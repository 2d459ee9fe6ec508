// SPDX-License-Identifier: Apache-2.0
// One contender of bench/kernel_bench.py: our GEMM in a process of its own.
//   gemm_worker M N K ROWS VECTORS THREADS
#include <cstdio>
#include <cstdlib>

#include "gemm.h"
#include "ready_kernel.h"
#include "serve.h"
#include "target/host.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc != 7) {
    std::fprintf(stderr, "usage: gemm_worker M N K ROWS VECTORS THREADS\n");
    return 1;
  }
  const int64_t m = std::atoll(argv[1]), n = std::atoll(argv[2]), k = std::atoll(argv[3]);
  const int threads = std::atoi(argv[6]);
  const ir::TargetSpec& spec = target::host_target();
  const bench::GemmTile tile{
      .rows = std::atoll(argv[4]), .vectors = std::atoll(argv[5]), .parallel = threads > 1};
  runtime::ThreadPool pool(threads);
  const bench::ReadyKernel kernel(
      driver::compile_kernel(bench::schedule_gemm(m, n, k, tile, spec).func(), spec), &pool);
  const auto floats = [](int64_t count) {
    bench::Memory p = bench::memory(count * 4);
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(p.get())[i] = static_cast<float>(i % 13) - 6.0f;
    return p;
  };
  const bench::Memory a = floats(m * k), b = floats(n * k), c = floats(m * n);
  void* buffers[] = {a.get(), b.get(), c.get()};
  for (int i = 0; i < 3; ++i) kernel.call(buffers);
  bench::serve([&] { kernel.call(buffers); });
}
