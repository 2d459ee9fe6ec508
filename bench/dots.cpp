// SPDX-License-Identifier: Apache-2.0
// Kernels made with tensorize on one core: VNNI in the first cache as a share of a loop of the same
// instruction on registers only, and 2-bit × 1-bit GEMM against bytes, both on AVX2.
//   dots [--json FILE]
#include "dots.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "measure.h"
#include "target/host.h"

using namespace tilewright;

namespace {

struct Bytes {
  std::unique_ptr<uint8_t, decltype(&std::free)> data;
  explicit Bytes(int64_t n, unsigned step = 0)
      : data(static_cast<uint8_t*>(std::aligned_alloc(64, (static_cast<size_t>(n) + 63) / 64 * 64)),
             std::free) {
    for (int64_t i = 0; i < n; ++i)
      data.get()[i] = static_cast<uint8_t>(static_cast<unsigned>(i * i) * step >> 3);
  }
  uint8_t operator[](int64_t i) const { return data.get()[i]; }
};

struct Case {
  std::string name;
  int64_t m, n, k;
  bench::DotTile tile;
  bool is_bits;
  const ir::TargetSpec& spec;
  Bytes a, b, c;
  target::llvm::JitKernel kernel;

  Case(std::string what, int64_t rows, int64_t columns, int64_t terms, bench::DotTile t, bool bits,
       const ir::TargetSpec& target)
      : name(std::move(what)),
        m(rows),
        n(columns),
        k(terms),
        tile(std::move(t)),
        is_bits(bits),
        spec(target),
        a(bits ? m * k / 4 : m * k, 7),
        b(bits ? n * k / 8 : n * k, 11),
        c(m * n * 4),
        kernel(driver::compile_kernel((bits ? bench::schedule_bits(m, n, k, tile, spec)
                                            : bench::schedule_bytes(m, n, k, tile, spec))
                                          .func(),
                                      spec)) {}

  void call() const {
    void* buffers[] = {a.data.get(), b.data.get(), c.data.get()};
    kernel.call(buffers);
  }

  int32_t expected(int64_t y, int64_t x) const {
    const int64_t words = is_bits ? k / 8 : k;
    int32_t sum = 0;
    for (int64_t i = 0; i < words; ++i) {
      const uint8_t w =
          b[((x / tile.lanes * (words / 4) + i / 4) * tile.lanes + x % tile.lanes) * 4 + i % 4];
      if (is_bits)
        sum += __builtin_popcount(a[y * words + i] & w) +
               2 * __builtin_popcount(a[(m + y) * words + i] & w);
      else
        sum += static_cast<int32_t>(a[y * words + i]) * static_cast<int8_t>(w);
    }
    return sum;
  }

  bool right() const {
    call();
    for (int64_t t = 0; t < 300; ++t) {
      const int64_t y = (t * 7919) % m, x = (t * 104729) % n;
      int32_t got = 0;
      std::memcpy(&got, c.data.get() + (y * n + x) * 4, 4);
      if (got != expected(y, x)) return false;
    }
    return true;
  }
};

double time_of(const Case& work) {
  const double start = bench::now();
  work.call();
  return bench::now() - start;
}

}  // namespace

int main(int argc, char** argv) {
  nlohmann::json results;
  bool all_right = true;
  const ir::TargetSpec& host = target::host_target();
  const ir::TargetSpec v3 = target::parse_target("x86-64-v3");
  if (host.isa.has(ir::Isa::Avx512Vnni)) {
    double best = 0;
    for (const auto& [rows, vectors, unroll] :
         std::vector<std::array<int64_t, 3>>{{12, 2, 4}, {14, 2, 4}, {8, 3, 4}, {6, 4, 4}}) {
      const Case l1("vnni", rows, vectors * 16, 256, {rows, vectors, 16, unroll, "dot_u8i8_16"},
                    false, host);
      const bool right = l1.right();
      all_right = all_right && right;
      constexpr int kCalls = 64;
      constexpr int64_t kIterations = 4000;
      const auto calls = [&](int n) {
        for (int i = 0; i < n; ++i) l1.call();
      };
      const auto canary = [&] { calls(32); };
      const auto r = bench::measure_quiet([&] { calls(kCalls); }, canary, 40, 4.0);
      const auto registers =
          bench::measure_quiet([&] { bench::vnni_loop(kIterations); }, canary, 40, 4.0);
      const double work = static_cast<double>(l1.m * l1.n * l1.k) * kCalls;
      const double limit = bench::kVnniLoopWork * kIterations / registers.seconds;
      const double share = r.clean > 0 && registers.clean > 0 ? work / r.seconds / limit : 0;
      best = std::max(best, share);
      std::printf(
          "vnni in L1, K = 256, %ldx%ld: %.0f G/s, %.1f %% of registers only, clean %d/%d %s\n",
          rows, vectors * 16, work / r.seconds * 1e-9, 100 * share, r.clean, r.slices,
          right ? "right" : "WRONG");
      results["vnni"].push_back({{"rows", rows},
                                 {"columns", vectors * 16},
                                 {"share", share},
                                 {"clean", r.clean},
                                 {"slices", r.slices},
                                 {"right", right}});
    }
    results["vnni_best_share"] = best;
  }
  if (target::runs_on_host(v3)) {
    const Case bytes("int8", 1024, 1024, 1024, {4, 2, 8, 2, "dot_u8i8_avx2"}, false, v3);
    const Case bits("2 x 1 bit", 1024, 1024, 1024, {4, 1, 8, 2, "dot_bits_8"}, true, v3);
    const bool right = bytes.right() && bits.right();
    all_right = all_right && right;
    std::vector<double> one, two;
    for (int i = 0; i < 30; ++i) {
      one.push_back(time_of(bytes));
      two.push_back(time_of(bits));
    }
    const double t1 = bench::quantile(one, 0.2), t2 = bench::quantile(two, 0.2);
    std::printf("1024^3 on AVX2: int8 %.2f ms, 2-bit x 1-bit %.2f ms: %.2fx %s\n", 1e3 * t1,
                1e3 * t2, t1 / t2, right ? "right" : "WRONG");
    results["bits"] = {{"int8_s", t1}, {"bits_s", t2}, {"times", t1 / t2}, {"right", right}};
  }
  if (argc == 3 && !std::strcmp(argv[1], "--json"))
    std::ofstream(argv[2]) << results.dump(1) << "\n";
  return all_right ? 0 : 1;
}
