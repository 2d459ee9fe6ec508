// SPDX-License-Identifier: Apache-2.0
#include "driver/roofs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "runtime/thread_pool.h"
#include "target/host.h"

namespace tilewright::driver {
namespace {

#if defined(__clang__)
#define TW_FAST
#else
#define TW_FAST , optimize("O3", "fp-contract=fast")
#endif
#if defined(__x86_64__)
#define TW_WIDE(isa) __attribute__((noinline, target(isa) TW_FAST))
#else
#define TW_WIDE(isa) __attribute__((noinline TW_FAST))
#endif

/// The loops with vectors of `Bytes`; what they compute is returned, so that they are not dropped.
#define TW_LOOPS(suffix, isa, Bytes)                                                          \
  typedef float V##suffix __attribute__((vector_size(Bytes), may_alias));                     \
  constexpr int kLanes##suffix = (Bytes) / 4;                                                 \
  TW_WIDE(isa) float fma##suffix(int64_t n) {                                                 \
    V##suffix a = V##suffix{} + 0.999f, b = V##suffix{} + 0.001f;                             \
    /* No two alike, or the compiler would compute them once. */                              \
    V##suffix c0 = a, c1 = a + 1, c2 = a + 2, c3 = a + 3, c4 = a + 4, c5 = a + 5, c6 = a + 6, \
              c7 = a + 7, c8 = a + 8, c9 = a + 9, c10 = a + 10, c11 = a + 11;                 \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      c0 = c0 * a + b, c1 = c1 * a + b, c2 = c2 * a + b, c3 = c3 * a + b;                     \
      c4 = c4 * a + b, c5 = c5 * a + b, c6 = c6 * a + b, c7 = c7 * a + b;                     \
      c8 = c8 * a + b, c9 = c9 * a + b, c10 = c10 * a + b, c11 = c11 * a + b;                 \
    }                                                                                         \
    c0 += c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + c10 + c11;                             \
    return c0[0];                                                                             \
  }                                                                                           \
  TW_WIDE(isa) float chain##suffix(int64_t n) {                                               \
    V##suffix a = V##suffix{} + 0.999f, b = V##suffix{} + 0.001f, c = a;                      \
    for (int64_t i = 0; i < n; ++i) c = c * a + b;                                            \
    return c[0];                                                                              \
  }                                                                                           \
  TW_WIDE(isa) float read##suffix(const float* from, int64_t n) {                             \
    const auto* p = reinterpret_cast<const V##suffix*>(from);                                 \
    V##suffix s0{}, s1{}, s2{}, s3{};                                                         \
    for (int64_t i = 0; i < n / kLanes##suffix; i += 4)                                       \
      s0 += p[i], s1 += p[i + 1], s2 += p[i + 2], s3 += p[i + 3];                             \
    return (s0 + s1 + s2 + s3)[0];                                                            \
  }                                                                                           \
  TW_WIDE(isa) void copy##suffix(const float* from, float* to, int64_t n) {                   \
    const auto* p = reinterpret_cast<const V##suffix*>(from);                                 \
    auto* q = reinterpret_cast<V##suffix*>(to);                                               \
    for (int64_t i = 0; i < n / kLanes##suffix; i += 4)                                       \
      q[i] = p[i], q[i + 1] = p[i + 1], q[i + 2] = p[i + 2], q[i + 3] = p[i + 3];             \
  }

TW_LOOPS(128, "sse2", 16)
#if defined(__x86_64__)
TW_LOOPS(256, "avx2,fma", 32)
TW_LOOPS(512, "avx512f", 64)
#endif

constexpr int64_t kChains = 12;  // of an fma loop
struct Loops {
  float (*fma)(int64_t);
  float (*chain)(int64_t);
  float (*read)(const float*, int64_t);
  void (*copy)(const float*, float*, int64_t);
  int64_t lanes;
  float (*half_fma)(int64_t) = nullptr;  // of vectors half as wide, where those have FMAs
};

Loops widest() {
  const ir::IsaSet isa = target::host_target().isa;
  (void)isa;
#if defined(__x86_64__)
  if (isa.has(ir::Isa::Avx512)) return {fma512, chain512, read512, copy512, 16, fma256};
  if (isa.has(ir::Isa::Avx2)) return {fma256, chain256, read256, copy256, 8};
#endif
  return {fma128, chain128, read128, copy128, 4};
}

volatile float sink;

using Clock = std::chrono::steady_clock;

/// The best of some rounds, in seconds.
template <class F>
double best_time(double budget, F&& f) {
  const Clock::time_point start = Clock::now();
  double best = 1e30;
  for (int round = 0; round < 3 || Clock::now() - start < std::chrono::duration<double>(budget);
       ++round) {
    const Clock::time_point begin = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

constexpr int64_t kFmaRounds = 200000;
/// A loop over a small array is repeated until it has moved so much.
constexpr int64_t kMoved = 16 << 20;

}  // namespace

double Roofs::seconds(double work, double bytes) const {
  double rate = memory.back().rate;
  for (const Memory& m : memory)
    if (bytes <= static_cast<double>(m.bytes)) {
      rate = m.rate;
      break;
    }
  return std::max(work / flops, bytes / rate);
}

bool Roofs::compute_bound(double work, double bytes) const {
  return work / flops >= seconds(0, bytes);
}

Roofs measure_roofs(int threads) {
  const Loops loops = widest();
  runtime::ThreadPool pool(threads > 0 ? threads : runtime::available_cpus());
  const int64_t workers = pool.workers();
  const auto everywhere = [&](auto&& f) {
    pool.parallel_for(workers, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t w = begin; w < end; ++w) f(w);
    });
  };
  Roofs out;
  out.flops = static_cast<double>(workers * kFmaRounds * 2 * kChains * loops.lanes) /
              best_time(0.1, [&] { everywhere([&](int64_t) { sink = loops.fma(kFmaRounds); }); });

  const ir::TargetSpec& host = target::host_target();
  const int64_t far = std::clamp<int64_t>(4 * host.l3_bytes, 64 << 20, 256 << 20);
  for (const int64_t bytes : {host.l1_bytes, host.l2_bytes, host.l3_bytes, far}) {
    if (bytes <= 0 || (!out.memory.empty() && bytes <= out.memory.back().bytes)) continue;
    // Each worker has its own piece; half of what fits, but of the last: that is to fit nowhere.
    const int64_t size = (bytes == far ? far / workers : bytes / 2) / 4096 * 4096;
    const int64_t repeats = std::max<int64_t>(1, kMoved / size), n = size / 2 / 4;
    std::vector<std::unique_ptr<float, decltype(&std::free)>> arrays;
    for (int64_t w = 0; w < workers; ++w) {
      arrays.emplace_back(static_cast<float*>(std::aligned_alloc(4096, static_cast<size_t>(size))),
                          std::free);
      std::fill_n(arrays.back().get(), size / 4, 1.0f);
    }
    const double read = best_time(0.05, [&] {
      everywhere([&](int64_t w) {
        for (int64_t r = 0; r < repeats; ++r)
          sink = loops.read(arrays[static_cast<size_t>(w)].get(), 2 * n);
      });
    });
    const double copy = best_time(0.05, [&] {
      everywhere([&](int64_t w) {
        float* p = arrays[static_cast<size_t>(w)].get();
        for (int64_t r = 0; r < repeats; ++r) loops.copy(p, p + n, n);
      });
    });
    out.memory.push_back(
        {bytes, static_cast<double>(workers * repeats * size) / std::min(read, copy)});
  }
  return out;
}

ir::Rates measure_rates() {
  const ir::TargetSpec& host = target::host_target();
  const Loops loops = widest();
  // Steps of half an octave: two measurements of one machine are to give the same.
  const auto stepped = [](double x) { return std::exp2(std::round(2 * std::log2(x)) / 2); };
  constexpr int64_t kRounds = 20000;
  const double fma = best_time(0.02, [&] { sink = loops.fma(kRounds); }) / (kRounds * kChains);
  const double chain = best_time(0.01, [&] { sink = loops.chain(kRounds); }) / kRounds;
  const double cycle = 2 * fma;
  // In pieces: a busy machine takes some of them away. Of memory the median counts, of a cache,
  // which others may have filled, the best tenth.
  constexpr long kOfCache = 10, kOfMemory = 2;
  const auto bytes_a_second = [&](int64_t bytes, long share) {
    const int64_t n = std::max<int64_t>(bytes / 4 / 1024, 1) * 1024,
                  piece = std::min<int64_t>(n, 1 << 16),
                  repeats = std::max<int64_t>(1, (1 << 18) / (4 * piece));
    const std::unique_ptr<float, decltype(&std::free)> array(
        static_cast<float*>(std::aligned_alloc(4096, static_cast<size_t>(4 * n))), std::free);
    std::fill_n(array.get(), n, 1.0f);
    std::vector<double> times;
    best_time(0.01, [&] {
      for (int64_t at = 0; at + piece <= n; at += piece) {
        const Clock::time_point begin = Clock::now();
        for (int64_t r = 0; r < repeats; ++r) sink = loops.read(array.get() + at, piece);
        times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      }
    });
    const auto rank = static_cast<long>(times.size()) / share;
    std::ranges::nth_element(times, times.begin() + rank);
    return static_cast<double>(4 * piece * repeats) / times[static_cast<size_t>(rank)];
  };
  const ir::Rates common;
  ir::Rates out;
  out.hertz = stepped(1 / cycle);
  if (loops.half_fma) {
    // Known to the compiler, the function would be called once for all rounds.
    float (*const volatile narrow)(int64_t) = loops.half_fma;
    const double each = best_time(0.02, [&] { sink = narrow(kRounds); }) / (kRounds * kChains);
    out.half = std::clamp(stepped(each / fma), 0.5, 1.0);
  }
  out.latency = stepped(chain / cycle);
  out.load = stepped(static_cast<double>(4 * loops.lanes) /
                     bytes_a_second(host.l1_bytes / 2, kOfCache) / cycle);
  const int64_t far = std::clamp<int64_t>(2 * host.l3_bytes, 32 << 20, 64 << 20);
  const int64_t sizes[] = {host.l2_bytes / 2, std::min(host.l3_bytes / 2, far), far};
  // Beside arithmetic, kernels get about half of what a loop gets that does nothing but read.
  for (int c = 0; c < 3; ++c)
    out.bytes[c] = sizes[c] > 0
                       ? stepped(bytes_a_second(sizes[c], c < 2 ? kOfCache : kOfMemory) * cycle / 2)
                       : common.bytes[c];
  return out;
}

}  // namespace tilewright::driver
