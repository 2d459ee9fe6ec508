// SPDX-License-Identifier: Apache-2.0
// A whole kernel: register tile, packed operand, parallel outer loop.
#include <random>
#include <vector>

#include "gtest/gtest.h"

#include "runtime/thread_pool.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "target/llvm/programs.h"

namespace tilewright::target::llvm {
namespace {

std::vector<float> random_floats(int64_t n, unsigned seed) {
  std::mt19937 gen(seed);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = static_cast<float>(static_cast<int>(gen() % 17) - 8);  // sums are exact
  return v;
}

void check(const MatmulShape& s, tw_host host) {
  const JitKernel kernel = compile(matmul(s), host_target());
  std::vector<float> a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2);
  std::vector<float> c(static_cast<size_t>(s.m * s.n), -1.0f);
  void* buffers[] = {a.data(), b.data(), c.data()};
  kernel.call(buffers, {}, host);
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < s.k; ++k)
        sum += a[static_cast<size_t>(i * s.k + k)] *
               b[static_cast<size_t>(((j / s.tile_n) * s.k + k) * s.tile_n + j % s.tile_n)];
      ASSERT_EQ(c[static_cast<size_t>(i * s.n + j)], sum) << i << ", " << j;
    }
}

tw_host serial() { return {nullptr, tw_serial_for, nullptr, nullptr, 0, 1}; }

TEST(Matmul, RegisterTilesOfSeveralShapes) {
  check({.m = 28, .n = 64, .k = 40, .tile_m = 14, .tile_n = 32, .lanes = 16, .unroll = 4},
        serial());
  check({.m = 12, .n = 32, .k = 7, .tile_m = 6, .tile_n = 16, .lanes = 8}, serial());
  check({.m = 3, .n = 24, .k = 1, .tile_m = 1, .tile_n = 8, .lanes = 4}, serial());
}

TEST(Matmul, ParallelColumnsOnAThreadPool) {
  runtime::ThreadPool pool(2);
  check({.m = 28,
         .n = 320,
         .k = 64,
         .tile_m = 14,
         .tile_n = 32,
         .lanes = 16,
         .unroll = 4,
         .outer = ir::ForKind::Parallel},
        pool.host());
}

}  // namespace
}  // namespace tilewright::target::llvm
