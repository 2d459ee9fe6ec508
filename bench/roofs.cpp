// SPDX-License-Identifier: Apache-2.0
// Kernels that stream, on one core, as share of the roof that bench/lib/roofs.h describes: in L1,
// in L2, and rotated through more buffers than four times L2 hold.
//   roofs [--only gemv|gemv_transposed|softmax|layer_norm|gelu|exp] [--json FILE]
#include "roofs.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "driver/kernel.h"
#include "elementwise.h"
#include "gemm.h"
#include "gemv.h"
#include "layer_norm.h"
#include "measure.h"
#include "rounds.h"
#include "softmax.h"
#include "target/host.h"

using namespace tilewright;

namespace {

using Floats = std::unique_ptr<float, decltype(&std::free)>;

/// Aligned to a page; values between -4 and 4, sixteenths, without a pattern.
Floats floats(int64_t n, uint32_t seed) {
  const size_t bytes = (static_cast<size_t>(n) * 4 + 4095) / 4096 * 4096;
  Floats out(static_cast<float*>(std::aligned_alloc(4096, bytes)), std::free);
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525 + 1013904223;
    out.get()[i] = static_cast<float>(seed >> 25) / 16 - 4;
  }
  return out;
}

/// A compiled kernel with its workspace, so that a call costs nothing but the kernel.
class Callable {
 public:
  Callable(const schedule::Schedule& s, const ir::TargetSpec& spec)
      : kernel_(driver::compile_kernel(s.func(), spec)),
        shared_(floats(bytes(kernel_.kernel().workspace.shared) / 4 + 1, 0)),
        scratch_(floats(bytes(kernel_.kernel().workspace.per_worker) / 4 + 1, 0)) {
    host_ = {.context = nullptr,
             .parallel_for = tw_serial_for,
             .workspace = shared_.get(),
             .scratch = scratch_.get(),
             .scratch_bytes = bytes(kernel_.kernel().workspace.per_worker),
             .workers = 1};
  }
  void operator()(void* const* buffers) const { kernel_.function()(buffers, nullptr, &host_); }

 private:
  static int64_t bytes(const ir::Expr& e) { return ir::const_int(e).value(); }

  target::llvm::JitKernel kernel_;
  Floats shared_, scratch_;
  tw_host host_;
};

/// What a kernel takes beside the matrix that it streams, and what it gives.
enum class Operands : uint8_t { Map, Norm, Product, TransposedProduct };

struct Kernel {
  std::string name;
  bench::Traffic traffic;
  Operands operands;
  int fmas;               // for each element, bench/lib/roofs.h
  int64_t l1_cols, cols;  // in L1 and farther away
  schedule::Schedule (*schedule)(int64_t rows, int64_t cols, const ir::TargetSpec&);
  /// The greatest error, as share of what is allowed.
  double (*error)(const bench::Arrays&);
};

/// Of y[i] = Σ A[i * outer + j * inner] x[j].
double product_error(const bench::Arrays& a, int64_t results, int64_t outer, int64_t terms,
                     int64_t inner) {
  double worst = 0;
  for (int64_t i = 0; i < results; ++i) {
    double want = 0, size = 0;
    for (int64_t j = 0; j < terms; ++j) {
      const double term = static_cast<double>(a.in[i * outer + j * inner]) * a.scale[j];
      want += term;
      size += std::abs(term);
    }
    worst = std::max(worst, std::abs(a.out[i] - want) / (1e-6 * size));
  }
  return worst;
}

double gemv_error(const bench::Arrays& a) { return product_error(a, a.rows, a.cols, a.cols, 1); }

double transposed_error(const bench::Arrays& a) {
  return product_error(a, a.cols, 1, a.rows, a.cols);
}

/// The greatest error over all rows, by the error of one row y of x.
template <double (*OfRow)(const float* x, const bench::Arrays&, const float* y)>
double by_row(const bench::Arrays& a) {
  double worst = 0;
  for (int64_t r = 0; r < a.rows; ++r)
    worst = std::max(worst, OfRow(a.in + r * a.cols, a, a.out + r * a.cols));
  return worst;
}

double softmax_error(const float* x, const bench::Arrays& a, const float* y) {
  double top = x[0], sum = 0, worst = 0;
  for (int64_t i = 0; i < a.cols; ++i) top = std::max(top, static_cast<double>(x[i]));
  for (int64_t i = 0; i < a.cols; ++i) sum += std::exp(x[i] - top);
  for (int64_t i = 0; i < a.cols; ++i) {
    const double want = std::exp(x[i] - top) / sum;
    worst = std::max(worst, std::abs(y[i] - want) / (1e-6 * want));
  }
  return worst;
}

double layer_norm_error(const float* x, const bench::Arrays& a, const float* y) {
  double mean = 0, square = 0, worst = 0;
  for (int64_t i = 0; i < a.cols; ++i) mean += x[i] / static_cast<double>(a.cols);
  for (int64_t i = 0; i < a.cols; ++i)
    square += (x[i] - mean) * (x[i] - mean) / static_cast<double>(a.cols);
  for (int64_t i = 0; i < a.cols; ++i) {
    const double want = (x[i] - mean) / std::sqrt(square + 1e-5) * a.scale[i] + a.shift[i];
    worst = std::max(worst, std::abs(y[i] - want) / 2e-5);
  }
  return worst;
}

double gelu_error(const float* x, const bench::Arrays& a, const float* y) {
  double worst = 0;
  for (int64_t i = 0; i < a.cols; ++i) {
    const double want = 0.5 * x[i] * (1 + std::erf(x[i] * std::sqrt(0.5)));
    worst = std::max(worst, std::abs(y[i] - want) / (3e-7 * std::abs(x[i]) + 1e-12));
  }
  return worst;
}

double exp_error(const float* x, const bench::Arrays& a, const float* y) {
  double worst = 0;
  for (int64_t i = 0; i < a.cols; ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(y[i] - want) / (2.4e-7 * want));
  }
  return worst;
}

template <schedule::Schedule (*Of)(int64_t n, const ir::TargetSpec&)>
schedule::Schedule flat(int64_t rows, int64_t cols, const ir::TargetSpec& spec) {
  return Of(rows * cols, spec);
}

const Kernel kKernels[] = {
    {"gemv", bench::Traffic::Read, Operands::Product, 1, 256, 1024, bench::schedule_gemv,
     gemv_error},
    {"gemv_transposed", bench::Traffic::Read, Operands::TransposedProduct, 1, 256, 1024,
     bench::schedule_gemv_transposed, transposed_error},
    {"softmax", bench::Traffic::Softmax, Operands::Map, bench::kSoftmaxFmas, 384, 512,
     bench::schedule_softmax, by_row<softmax_error>},
    {"layer_norm", bench::Traffic::LayerNorm, Operands::Norm, bench::kLayerNormFmas, 768, 768,
     bench::schedule_layer_norm, by_row<layer_norm_error>},
    {"gelu", bench::Traffic::Copy, Operands::Map, bench::kGeluFmas, 128, 128,
     flat<bench::schedule_gelu>, by_row<gelu_error>},
    {"exp", bench::Traffic::Copy, Operands::Map, bench::kExpFmas, 128, 128,
     flat<bench::schedule_exp>, by_row<exp_error>},
};

struct Level {
  const char* name;
  int64_t bytes;  // of one call's matrices
  int64_t sets;   // of them that calls go through in turn
};

class Bench {
 public:
  nlohmann::json results = nlohmann::json::array();

  void run(const Kernel& k) {
    run(k, {"L1", spec_.l1_bytes / 4 * 3, 1}, k.l1_cols);
    run(k, {"L2", spec_.l2_bytes / 2, 1}, k.cols);
    run(k, {"4 x L2", spec_.l2_bytes * 2, 3}, k.cols);
  }

 private:
  /// An L1-resident kernel of some ten microseconds.
  void canary() const {
    void* buffers[] = {small_a_.get(), small_b_.get(), small_c_.get()};
    canary_kernel_(buffers);
  }

  void run(const Kernel& k, const Level& level, int64_t cols) {
    const bool transposed = k.operands == Operands::TransposedProduct;
    const bool product = k.operands == Operands::Product || transposed;
    const int64_t rows =
        level.bytes / 4 / (product ? 1 : 2) / cols / bench::kRowTile * bench::kRowTile;
    const Callable kernel(k.schedule(rows, cols, spec_), spec_);
    const Floats scale = floats(transposed ? rows : cols, 5), shift = floats(cols, 6),
                 part = floats(bench::kRowTile * cols, 7);
    std::vector<Floats> in, out;
    std::vector<bench::Arrays> arrays;
    std::vector<std::vector<void*>> buffers;
    for (int64_t i = 0; i < level.sets; ++i) {
      in.push_back(floats(rows * cols, static_cast<uint32_t>(i) + 1));
      out.push_back(floats(transposed ? cols : product ? rows : rows * cols, 0));
      arrays.push_back(
          {in[i].get(), out[i].get(), part.get(), scale.get(), shift.get(), rows, cols});
      buffers.push_back({in[i].get()});
      if (k.operands != Operands::Map) buffers[i].push_back(scale.get());
      if (k.operands == Operands::Norm) buffers[i].push_back(shift.get());
      buffers[i].push_back(out[i].get());
    }

    kernel(buffers[0].data());
    const bool right = k.error(arrays[0]) <= 1;
    if (k.traffic == bench::Traffic::Read || k.traffic == bench::Traffic::Copy)
      for (bench::Arrays& a : arrays) {  // one pass from front to end
        a.cols *= a.rows;
        a.rows = 1;
      }

    std::vector<bench::Contender> contenders;
    const auto add = [&](auto call) {
      contenders.push_back({[call, next = int64_t{0}, sets = level.sets]() mutable {
        call(next);
        next = next + 1 == sets ? 0 : next + 1;
      }});
    };
    add([&](int64_t set) { kernel(buffers[set].data()); });
    const bench::FmaLoop fma = bench::fma_loop();
    constexpr int64_t kFmaIterations = 1000;
    add([&](int64_t) { fma.run(kFmaIterations); });
    const auto variants = bench::variants(k.traffic);
    for (const bench::Variant& v : variants) add([&](int64_t set) { v.run(arrays[set]); });
    bench::measure_rounds(contenders, [this] { canary(); }, 40, 10.0);

    size_t bytes = 2;
    for (size_t i = bytes; i < contenders.size(); ++i)
      if (contenders[i].seconds < contenders[bytes].seconds) bytes = i;
    report({.kernel = k,
            .level = level,
            .rows = rows,
            .cols = cols,
            .own = contenders[0],
            .bytes = contenders[bytes].seconds,
            .variant = variants[bytes - 2],
            .fmas = 2.0 * k.fmas * static_cast<double>(rows * cols) * contenders[1].seconds /
                    (fma.flops_per_iteration * kFmaIterations),
            .right = right});
  }

  struct Measured {
    const Kernel& kernel;
    const Level& level;
    int64_t rows, cols;
    const bench::Contender& own;
    double bytes;            // seconds of the best loop with the same reads and writes
    bench::Variant variant;  // that loop
    double fmas;             // seconds of the formula's FMAs
    bool right;
  };

  void report(const Measured& m) {
    const double elements = static_cast<double>(m.rows * m.cols), own = m.own.seconds;
    const double roof = std::max(m.bytes, m.fmas);
    const double share = std::isfinite(roof) ? roof / own : 0;
    std::printf(
        "%-15s %-6s %5ldx%-4ld %6.2f G/s %6.1f %% of %-5s (bytes %5.2f by unroll %d%s, FMAs "
        "%5.2f), spread %.2f, clean %d/%d %s\n",
        m.kernel.name.c_str(), m.level.name, m.rows, m.cols, elements / own * 1e-9, 100 * share,
        m.bytes > m.fmas ? "bytes" : "FMAs", elements / m.bytes * 1e-9, m.variant.unroll,
        m.variant.prefetch ? " prefetch" : "", elements / m.fmas * 1e-9, m.own.spread, m.own.clean,
        m.own.slices, m.right ? "right" : "WRONG");
    std::fflush(stdout);
    results.push_back({{"kernel", m.kernel.name},
                       {"level", m.level.name},
                       {"shape", {m.rows, m.cols}},
                       {"elements_per_s", elements / own},
                       {"limit", m.bytes > m.fmas ? "bytes" : "fmas"},
                       {"bytes_elements_per_s", elements / m.bytes},
                       {"bytes_unroll", m.variant.unroll},
                       {"bytes_prefetch", m.variant.prefetch},
                       {"fmas_elements_per_s", elements / m.fmas},
                       {"share", share},
                       {"spread", m.own.spread},
                       {"clean", m.own.clean},
                       {"slices", m.own.slices},
                       {"right", m.right}});
  }

  const ir::TargetSpec& spec_ = target::host_target();
  Floats small_a_ = floats(56 * 256, 1), small_b_ = floats(32 * 256, 2),
         small_c_ = floats(56 * 32, 3);
  Callable canary_kernel_{
      bench::schedule_gemm(56, 32, 256, {spec_.vector_registers >= 32 ? 14 : 6, 2, 4}, spec_),
      spec_};
};

}  // namespace

int main(int argc, char** argv) {
  std::string only, json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    if (!std::strcmp(argv[i], "--json")) json = argv[i + 1];
  }
  Bench bench;
  for (const Kernel& k : kKernels)
    if (only.empty() || only == k.name) bench.run(k);
  if (!json.empty()) std::ofstream(json) << bench.results.dump(1) << "\n";
  for (const auto& r : bench.results)
    if (!r["right"]) return 1;
  return 0;
}
