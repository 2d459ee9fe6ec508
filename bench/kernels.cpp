// SPDX-License-Identifier: Apache-2.0
// Kernels made by schedule steps, on one core, as share of the machine's limit in the same rounds.
//   kernels [--only gemm|conv] [--json FILE]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "chunks.h"
#include "conv.h"
#include "gemm.h"
#include "measure.h"
#include "ready_kernel.h"
#include "target/host.h"

using namespace tilewright;

namespace {

/// 64-byte aligned floats: small integers, so that every order of a sum gives the same result.
struct Floats {
  std::unique_ptr<float, decltype(&std::free)> data;
  size_t size;
  explicit Floats(int64_t n, int modulus = 0)
      : data(static_cast<float*>(
                 std::aligned_alloc(64, (static_cast<size_t>(n) * 4 + 63) / 64 * 64)),
             std::free),
        size(static_cast<size_t>(n)) {
    for (size_t i = 0; i < size; ++i)
      data.get()[i] = modulus ? static_cast<float>(i % static_cast<size_t>(modulus)) -
                                    static_cast<float>(modulus / 2)
                              : 0.0f;
  }
  float* get() const { return data.get(); }
  float operator[](int64_t i) const { return data.get()[i]; }
};

struct Bench {
  const ir::TargetSpec& spec = target::host_target();
  nlohmann::json results = nlohmann::json::array();
  std::vector<double> compile_times;
  Floats small_a{56 * 256, 5}, small_b{32 * 256, 7}, small_c{56 * 32};
  target::llvm::JitKernel canary_kernel = driver::compile_kernel(
      bench::schedule_gemm(56, 32, 256, {spec.vector_registers >= 32 ? 14 : 6, 2, 4}, spec).func(),
      spec);

  /// An L1-resident kernel of some ten microseconds.
  void canary() const {
    void* buffers[] = {small_a.get(), small_b.get(), small_c.get()};
    canary_kernel.call(buffers);
  }

  target::llvm::JitKernel compile(const schedule::Schedule& s) {
    const double start = bench::now();
    auto kernel = driver::compile_kernel(s.func(), spec);
    compile_times.push_back(bench::now() - start);
    return kernel;
  }

  /// Prints and keeps one figure; `limit` is what the machine could do.
  void report(const std::string& kind, const std::string& name, const std::string& tile,
              const bench::QuietResult& r, double work, double limit, bool right) {
    const double share = r.clean > 0 ? work / r.seconds / limit : 0;
    std::printf("%-8s %-16s %-8s %9.1f G/s %7.1f %%  clean %3d/%-4d %s\n", kind.c_str(),
                name.c_str(), tile.c_str(), r.clean > 0 ? work / r.seconds * 1e-9 : 0.0,
                100 * share, r.clean, r.slices, right ? "right" : "WRONG");
    std::fflush(stdout);
    results.push_back({{"kind", kind},
                       {"name", name},
                       {"tile", tile},
                       {"seconds", r.seconds},
                       {"work", work},
                       {"limit", limit},
                       {"share", share},
                       {"clean", r.clean},
                       {"slices", r.slices},
                       {"right", right}});
  }

  bench::QuietResult quiet(const target::llvm::JitKernel& kernel,
                           std::span<void* const> buffers) const {
    return bench::measure_quiet([&] { kernel.call(buffers); }, [&] { canary(); }, 30, 4.0);
  }

  /// In one piece, or in chunks where that takes longer than the machine is ever quiet.
  bench::QuietResult quiet_gemm(int64_t m, int64_t n, int64_t k, const bench::GemmTile& tile,
                                const target::llvm::JitKernel& kernel,
                                std::span<void* const> buffers) const {
    if (m * n * k < int64_t{1} << 28) return quiet(kernel, buffers);
    const ir::LoopFunc func = bench::schedule_gemm(m, n, k, tile, spec).func();
    struct Call {
      std::shared_ptr<target::llvm::JitKernel> kernel;
      int64_t number;
    };
    std::vector<Call> calls;
    std::vector<void*> all(buffers.begin(), buffers.end());
    std::vector<bench::Memory> between;
    for (const bench::Chunk& chunk : bench::cut_into_chunks(func, 64)) {
      const auto part =
          std::make_shared<target::llvm::JitKernel>(driver::compile_kernel(chunk.func, spec));
      for (int64_t i = 0; i < chunk.count; ++i) calls.push_back({part, i});
      for (size_t i = all.size(); i < chunk.func.params.size(); ++i) {
        int64_t bytes = 4;
        for (const ir::Expr& e : chunk.func.params[i].buffer->shape)
          bytes *= ir::const_int(e).value();
        between.push_back(bench::memory(bytes));
        all.push_back(between.back().get());
      }
    }
    return bench::measure_quiet_chunks(
        static_cast<int>(calls.size()),
        [&](int i) {
          const Call& c = calls[static_cast<size_t>(i)];
          const int64_t scalars[] = {c.number};
          c.kernel->call(all, scalars);
        },
        [&] { canary(); }, 30, 20.0);
  }

  void gemm(int64_t m, int64_t n, int64_t k) {
    const bool wide = spec.vector_registers >= 32;
    const std::vector<bench::GemmTile> tiles =
        wide ? std::vector<bench::GemmTile>{{14, 2, 4}, {12, 2, 4}, {6, 4, 4}}
             : std::vector<bench::GemmTile>{{6, 2, 4}, {4, 3, 4}};
    const Floats a(m * k, 17), b(n * k, 13);
    for (const bench::GemmTile& tile : tiles) {
      const Floats c(m * n);
      const int64_t cols = tile.vectors * spec.lanes(32);
      if (n % cols != 0) continue;
      const auto kernel = compile(bench::schedule_gemm(m, n, k, tile, spec));
      void* buffers[] = {a.get(), b.get(), c.get()};
      const auto r = quiet_gemm(m, n, k, tile, kernel, buffers);
      bool right = true;
      for (int64_t t = 0; t < 300; ++t) {
        const int64_t y = (t * 7919) % m, x = (t * 104729) % n;
        float sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum += a[y * k + i] * b[(x / cols * k + i) * cols + x % cols];
        right = right && sum == c[y * n + x];
      }
      report("gemm", std::to_string(m) + "," + std::to_string(n) + "," + std::to_string(k),
             std::to_string(tile.rows) + "x" + std::to_string(cols), r,
             2.0 * static_cast<double>(m * n * k), r.peak, right);
    }
  }

  void conv(const bench::ConvLayer& l) {
    const int64_t lanes = spec.lanes(32), block = bench::channel_block(l, spec);
    const int64_t out = l.out_size(), in = l.padded();
    const Floats x(l.in_channels * in * in, 5),
        w(l.out_channels * l.in_channels * l.kernel * l.kernel, 7), y(l.out_channels * out * out);
    for (const bench::ConvTile& tile : bench::conv_tiles(l, spec)) {
      const auto kernel = compile(bench::schedule_conv(l, tile, spec));
      void* buffers[] = {x.get(), w.get(), y.get()};
      kernel.call(buffers);
      bool right = true;
      for (int64_t t = 0; t < 300; ++t) {
        const int64_t o = (t * 7919) % l.out_channels, py = (t * 31) % out, px = (t * 17) % out;
        float sum = 0;
        for (int64_t c = 0; c < l.in_channels; ++c)
          for (int64_t r = 0; r < l.kernel; ++r)
            for (int64_t s = 0; s < l.kernel; ++s)
              sum += x[((c / block * in + py * l.stride + r) * in + px * l.stride + s) * block +
                       c % block] *
                     w[((((o / lanes * (l.in_channels / block) + c / block) * l.kernel + r) *
                             l.kernel +
                         s) *
                            block +
                        c % block) *
                           lanes +
                       o % lanes];
        right = right && sum == y[((o / lanes * out + py) * out + px) * lanes + o % lanes];
      }
      const auto r = quiet(kernel, buffers);
      report("conv", l.name, std::to_string(tile.width) + "x" + std::to_string(tile.blocks * lanes),
             r, l.flops(), r.peak, right);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string only, json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    if (!std::strcmp(argv[i], "--json")) json = argv[i + 1];
  }
  Bench bench;
  const auto wanted = [&](const char* kind) { return only.empty() || only == kind; };
  if (wanted("gemm"))
    for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{256, 256, 256},
                                                                     {1024, 1024, 1024},
                                                                     {3136, 64, 64},
                                                                     {3136, 256, 64},
                                                                     {784, 512, 128},
                                                                     {196, 1024, 256},
                                                                     {49, 2048, 512}})
      bench.gemm(m, n, k);
  if (wanted("conv"))
    for (const bench::ConvLayer& l : bench::resnet18_layers()) bench.conv(l);
  std::printf("compile, schedule to code: median %.1f ms over %zu kernels\n",
              1e3 * bench::quantile(bench.compile_times, 0.5), bench.compile_times.size());
  if (!json.empty())
    std::ofstream(json) << nlohmann::json{{"cpu", bench.spec.cpu},
                                          {"lanes", bench.spec.lanes(32)},
                                          {"compile_median_s",
                                           bench::quantile(bench.compile_times, 0.5)},
                                          {"kernels", bench.results}}
                               .dump(1)
                        << "\n";
  for (const auto& r : bench.results)
    if (!r["right"]) return 1;
  return 0;
}
