// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <algorithm>
#include <immintrin.h>
#include <time.h>

namespace bench {
namespace {

// Twelve accumulators by name: an array of them would go through memory.
#define TW_ALL(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)
#define TW_FMA_LOOP(name, isa, vec, set1)             \
  __attribute__((target(isa))) void name(int64_t n) { \
    const vec a = set1(0.9999f), b = set1(1e-5f);     \
    TW_ALL(TW_DECLARE)                                \
    for (int64_t k = 0; k < n; ++k) {                 \
      TW_ALL(TW_STEP)                                 \
    }                                                 \
  }

#define TW_DECLARE(i) __m512 c##i = _mm512_set1_ps(0.1f * i);
#define TW_STEP(i)                    \
  c##i = _mm512_fmadd_ps(c##i, a, b); \
  __asm__ volatile("" : "+v"(c##i));
TW_FMA_LOOP(fma512, "avx512f", __m512, _mm512_set1_ps)
#undef TW_DECLARE
#undef TW_STEP
#define TW_DECLARE(i) __m256 c##i = _mm256_set1_ps(0.1f * i);
#define TW_STEP(i)                    \
  c##i = _mm256_fmadd_ps(c##i, a, b); \
  __asm__ volatile("" : "+v"(c##i));
TW_FMA_LOOP(fma256, "avx2,fma", __m256, _mm256_set1_ps)

}  // namespace

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

FmaLoop fma_loop() {
  if (__builtin_cpu_supports("avx512f")) return {fma512, 2.0 * 12 * 16};
  return {fma256, 2.0 * 12 * 8};
}

double fma_rate(double seconds) {
  const FmaLoop loop = fma_loop();
  std::vector<double> rates;
  const double end = now() + seconds;
  constexpr int64_t kIterations = 4000;
  while (now() < end) {
    const double start = now();
    loop.run(kIterations);
    rates.push_back(loop.flops_per_iteration * kIterations / (now() - start));
  }
  return quantile(rates, 0.8);
}

QuietResult measure_quiet(const std::function<void()>& work, const std::function<void()>& canary,
                          int wanted, double limit) {
  return measure_quiet_chunks(1, [&](int) { work(); }, canary, wanted, limit);
}

QuietResult measure_quiet_chunks(int chunks, const std::function<void(int)>& work,
                                 const std::function<void()>& canary, int wanted, double limit) {
  const auto time_of = [](const auto& f) {
    const double start = now();
    f();
    return now() - start;
  };
  const FmaLoop loop = fma_loop();
  constexpr int64_t kIterations = 1000;
  for (int i = 0; i < 3; ++i)
    for (int c = 0; c < chunks; ++c) work(c);
  double best = 1e9;
  for (int i = 0; i < 200; ++i) best = std::min(best, time_of(canary));
  std::vector<std::vector<double>> times(static_cast<size_t>(chunks));
  std::vector<double> peaks;
  QuietResult out;
  const double end = now() + limit;
  double before = time_of(canary);
  while (out.clean < wanted && now() < end) {
    for (int c = 0; c < chunks; ++c) {
      const double t = time_of([&] { work(c); });
      const double after = time_of(canary);
      const double fma = time_of([&] { loop.run(kIterations); });
      best = std::min({best, before, after});
      // A clean canary reaches 95 % of the best one seen.
      if (before * 0.95 <= best && after * 0.95 <= best) {
        times[static_cast<size_t>(c)].push_back(t);
        peaks.push_back(loop.flops_per_iteration * kIterations / fma);
      }
      before = time_of(canary);
    }
    ++out.slices;
    out.clean = static_cast<int>(
        std::ranges::min(times, {}, [](const auto& of) { return of.size(); }).size());
  }
  for (const std::vector<double>& of : times) out.seconds += quantile(of, 0.2);
  out.peak = quantile(peaks, 0.8);
  return out;
}

}  // namespace bench
