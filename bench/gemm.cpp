// SPDX-License-Identifier: Apache-2.0
// sgemm on one core as share of the FMA peak of the same rounds:  gemm [M N K]…
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "gemm.h"
#include "measure.h"
#include "target/host.h"

using namespace tilewright;

namespace {

float* aligned_floats(size_t n) {
  return static_cast<float*>(std::aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64));
}

struct Problem {
  int64_t m, n, k;
  std::unique_ptr<float, decltype(&std::free)> a, b, c;
  Problem(int64_t m_, int64_t n_, int64_t k_)
      : m(m_), n(n_), k(k_),
        a(aligned_floats(static_cast<size_t>(m * k)), std::free),
        b(aligned_floats(static_cast<size_t>((n + 63) / 64 * 64 * k)), std::free),
        c(aligned_floats(static_cast<size_t>(m * n)), std::free) {
    for (int64_t i = 0; i < m * k; ++i) a.get()[i] = static_cast<float>(i % 17) - 8.0f;
    for (int64_t i = 0; i < (n + 63) / 64 * 64 * k; ++i) b.get()[i] = static_cast<float>(i % 13) - 6.0f;
  }
  /// Against plain loops on some elements; small integers make every order exact.
  bool right(int64_t cols) const {
    for (int64_t t = 0; t < 200; ++t) {
      const int64_t y = (t * 7919) % m, x = (t * 104729) % n;
      float sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += a.get()[y * k + i] * b.get()[(x / cols * k + i) * cols + x % cols];
      if (sum != c.get()[y * n + x]) return false;
    }
    return true;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const ir::TargetSpec& spec = target::host_target();
  std::vector<std::array<int64_t, 3>> shapes;
  for (int i = 1; i + 2 < argc; i += 3)
    shapes.push_back({std::atoll(argv[i]), std::atoll(argv[i + 1]), std::atoll(argv[i + 2])});
  if (shapes.empty())
    shapes = {{256, 256, 256}, {1024, 1024, 1024}, {3136, 64, 64},   {3136, 256, 64},
              {784, 512, 128}, {196, 1024, 256},   {49, 2048, 512}};
  const bool wide = spec.vector_registers >= 32;
  const std::vector<bench::GemmTile> tiles =
      wide ? std::vector<bench::GemmTile>{{14, 2, 4}, {12, 2, 4}, {8, 3, 4}, {6, 4, 4}}
           : std::vector<bench::GemmTile>{{6, 2, 4}, {4, 3, 4}};
  // The canary is a kernel that stays in the first cache.
  Problem small(56, 32, 256);
  const auto canary = driver::compile_kernel(
      bench::schedule_gemm(small.m, small.n, small.k, tiles[0], spec).func(), spec);
  void* small_buffers[] = {small.a.get(), small.b.get(), small.c.get()};
  std::printf("%14s %8s %10s %8s %6s %10s %s\n", "M,N,K", "tile", "GFLOP/s", "% peak", "clean",
              "compile", "");
  for (const auto& [m, n, k] : shapes) {
    Problem p(m, n, k);
    for (const bench::GemmTile& tile : tiles) {
      const int64_t cols = tile.vectors * spec.lanes(32);
      if (n % cols != 0) continue;
      const double start = bench::now();
      const auto kernel = driver::compile_kernel(bench::schedule_gemm(m, n, k, tile, spec).func(), spec);
      const double compile = bench::now() - start;
      void* buffers[] = {p.a.get(), p.b.get(), p.c.get()};
      kernel.call(buffers);
      const bool right = p.right(cols);
      const auto r = bench::measure_quiet([&] { kernel.call(buffers); },
                                          [&] { canary.call(small_buffers); }, 30, 3.0);
      const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
      std::printf("%5lld,%4lld,%4lld %5lldx%-2lld %10.1f %7.1f%% %3d/%-3d %7.1f ms %s\n",
                  static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
                  static_cast<long long>(tile.rows), static_cast<long long>(cols),
                  flops / r.seconds * 1e-9, 100 * flops / r.seconds / r.peak, r.clean, r.slices,
                  compile * 1e3, right ? "right" : "WRONG");
      std::fflush(stdout);
    }
  }
}
