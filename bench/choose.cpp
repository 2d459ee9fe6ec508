// SPDX-License-Identifier: Apache-2.0
// Kernels with the schedule that tune::choose gives them, on one core, as share of the machine's
// limit in the same rounds: the slower of their FMAs at full rate and of copying their bytes.
//   choose [--only PART-OF-NAME] [--json FILE]
// Parameters called W or w… are constants: what the schedule makes of them alone is not timed.
#include "tune/choose/choose.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <time.h>

#include "gemm.h"
#include "lower/to_blocks.h"
#include "measure.h"
#include "ready_kernel.h"
#include "roofs.h"
#include "rounds.h"
#include "support/str.h"
#include "target/host.h"
#include "te/parse.h"
#include "tune/choose/prepack.h"

using namespace tilewright;

namespace {

struct Case {
  std::string name, text;
  double flops = 0;
};

Case gemm(int64_t m, int64_t n, int64_t k, bool gelu = false) {
  std::string text =
      str("te gemm(A: f32[", m, ", ", k, "], W: f32[", k, ", ", n, "], wb: f32[", n,
          "]) {\n  C[y in ", m, ", x in ", n, "] = sum(k in ", k, ") A[y, k] * W[k, x]\n  D[y in ",
          m, ", x in ", n, "] = C[y, x] + wb[x]\n");
  if (gelu)
    text += str("  E[y in ", m, ", x in ", n,
                "] = D[y, x] * 0.5 * (1.0 + erf(D[y, x] * 0.7071067811865476))\n  return E\n}");
  else
    text += "  return D\n}";
  return {str(gelu ? "gemm_gelu " : "gemm ", m, ",", n, ",", k), text,
          2.0 * static_cast<double>(m * n * k)};
}

Case gemm_of_activations(int64_t b, int64_t m, int64_t n, int64_t k, bool transposed) {
  const std::string right = transposed ? str("B: f32[", b, ", ", n, ", ", k, "]")
                                       : str("B: f32[", b, ", ", k, ", ", n, "]");
  return {str(transposed ? "bmm_t " : "bmm ", b, ",", m, ",", n, ",", k),
          str("te bmm(A: f32[", b, ", ", m, ", ", k, "], ", right, ") {\n  C[b in ", b, ", y in ",
              m, ", x in ", n, "] = sum(k in ", k, ") A[b, y, k] * ",
              transposed ? "B[b, x, k]" : "B[b, k, x]", "\n  return C\n}"),
          2.0 * static_cast<double>(b * m * n * k)};
}

Case conv(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride,
          int64_t groups = 1) {
  const int64_t pad = kernel / 2, padded = size + 2 * pad,
                result = (size + 2 * pad - kernel) / stride + 1;
  const int64_t per = in / groups;
  std::string text = str("te conv(X: f32[1, ", in, ", ", size, ", ", size, "], W: f32[", out, ", ",
                         per, ", ", kernel, ", ", kernel, "], wb: f32[", out, "]) {\n");
  if (pad > 0)
    text += str("  P[n in 1, c in ", in, ", y in ", padded, ", x in ", padded, "] = guard(", pad,
                " <= y && y < ", size + pad, " && ", pad, " <= x && x < ", size + pad,
                ", X[n, c, y - ", pad, ", x - ", pad, "], 0.0)\n");
  const std::string channel = groups == 1 ? "c" : "m";
  text += str("  C[n in 1, m in ", out, ", y in ", result, ", x in ", result, "] = sum(c in ", per,
              ", r in ", kernel, ", s in ", kernel, ") ", pad > 0 ? "P" : "X", "[n, ", channel,
              ", y * ", stride, " + r, x * ", stride, " + s] * W[m, c, r, s]\n");
  text += str("  D[n in 1, m in ", out, ", y in ", result, ", x in ", result,
              "] = max(C[n, m, y, x] + wb[m], 0.0)\n  return D\n}");
  return {str(groups == 1 ? "conv " : "depthwise ", size, ",", in, ",", out, " ", kernel, "x",
              kernel, "/", stride),
          text, 2.0 * static_cast<double>(out * per * kernel * kernel * result * result)};
}

Case softmax(int64_t rows, int64_t cols) {
  const std::string r = std::to_string(rows), c = std::to_string(cols);
  return {"softmax " + r + "," + c,
          "te softmax(X: f32[" + r + ", " + c + "]) {\n  M[i in " + r + ", j in 1] = max(k in " +
              c + ") X[i, k]\n  D[i in " + r + ", j in " + c + "] = X[i, j] - M[i, 0]\n  E[i in " +
              r + ", j in " + c + "] = exp(D[i, j])\n  S[i in " + r + ", j in 1] = sum(k in " + c +
              ") E[i, k]\n  R[i in " + r + ", j in " + c + "] = E[i, j] / S[i, 0]\n  return R\n}",
          2.0 * bench::kSoftmaxFmas * static_cast<double>(rows * cols)};
}

Case layer_norm(int64_t rows, int64_t cols) {
  const std::string r = std::to_string(rows), c = std::to_string(cols),
                    each = "[i in " + r + ", j in " + c + "] = ";
  return {"layer_norm " + r + "," + c,
          "te layer_norm(X: f32[" + r + ", " + c + "], wg: f32[" + c + "], wb: f32[" + c +
              "]) {\n  S[i in " + r + ", j in 1] = sum(k in " + c + ") X[i, k]\n  M[i in " + r +
              ", j in 1] = S[i, j] / " + c + ".0\n  D" + each + "X[i, j] - M[i, 0]\n  Q" + each +
              "D[i, j] * D[i, j]\n  V[i in " + r + ", j in 1] = sum(k in " + c +
              ") Q[i, k]\n  T[i in " + r + ", j in 1] = 1.0 / sqrt(V[i, j] / " + c +
              ".0 + 0.00001)\n  N" + each + "D[i, j] * T[i, 0] * wg[j] + wb[j]\n  return N\n}",
          2.0 * bench::kLayerNormFmas * static_cast<double>(rows * cols)};
}

std::vector<Case> all_cases() {
  std::vector<Case> out = {gemm(256, 256, 256),
                           gemm(1024, 1024, 1024),
                           gemm(128, 768, 768),
                           gemm(128, 3072, 768, true),
                           gemm(128, 768, 3072),
                           gemm(1, 1000, 2048),
                           gemm(1, 3072, 768),
                           gemm(37, 53, 61),
                           gemm(384, 384, 384),
                           gemm_of_activations(12, 128, 128, 64, true),
                           gemm_of_activations(12, 128, 64, 128, false)};
  for (const auto& [size, in, o, kernel, stride] : std::vector<std::array<int64_t, 5>>{
           {224, 3, 64, 7, 2},     {56, 64, 64, 1, 1},    {56, 64, 64, 3, 1},
           {56, 64, 256, 1, 1},    {56, 256, 64, 1, 1},   {56, 256, 128, 1, 1},
           {56, 128, 128, 3, 2},   {28, 128, 512, 1, 1},  {56, 256, 512, 1, 2},
           {28, 512, 128, 1, 1},   {28, 128, 128, 3, 1},  {28, 256, 256, 3, 2},
           {14, 256, 1024, 1, 1},  {28, 512, 1024, 1, 2}, {14, 1024, 256, 1, 1},
           {14, 256, 256, 3, 1},   {14, 512, 512, 3, 2},  {7, 512, 2048, 1, 1},
           {14, 1024, 2048, 1, 2}, {7, 2048, 512, 1, 1},  {7, 512, 512, 3, 1}})
    out.push_back(conv(size, in, o, kernel, stride));
  for (const auto& [size, c, stride] : std::vector<std::array<int64_t, 3>>{{112, 32, 1},
                                                                           {112, 96, 2},
                                                                           {56, 144, 1},
                                                                           {56, 144, 2},
                                                                           {28, 192, 1},
                                                                           {14, 384, 1},
                                                                           {7, 960, 1}})
    out.push_back(conv(size, c, c, 3, stride, c));
  out.push_back(softmax(1536, 128));
  out.push_back(softmax(128, 1000));
  out.push_back(layer_norm(128, 768));
  out.push_back({"relu 64,56,56",
                 "te relu(X: f32[1, 64, 56, 56]) {\n  Y[n in 1, c in 64, y in 56, x in 56] = "
                 "max(X[n, c, y, x], 0.0)\n  return Y\n}",
                 1});
  out.push_back({"gelu 128,3072",
                 "te gelu(X: f32[128, 3072]) {\n  Y[i in 128, j in 3072] = X[i, j] * 0.5 * (1.0 + "
                 "erf(X[i, j] * 0.7071067811865476))\n  return Y\n}",
                 2.0 * bench::kGeluFmas * 128 * 3072});
  out.push_back(
      {"add 1M",
       "te add(X: f32[1048576], Y: f32[1048576]) {\n  Z[i in 1048576] = X[i] + Y[i]\n  return Z\n}",
       1});
  out.push_back({"transpose 512,768",
                 "te t(X: f32[512, 768]) {\n  Y[i in 768, j in 512] = X[j, i]\n  return Y\n}", 1});
  out.push_back(
      {"heads 128,12,64",
       "te t(X: f32[128, 12, 64]) {\n  Y[h in 12, s in 128, d in 64] = X[s, h, d]\n  return Y\n}",
       1});
  out.push_back(
      {"max_pool 112,64 3x3/2",
       "te p(X: f32[1, 64, 112, 112]) {\n  P[n in 1, c in 64, y in 114, x in 114] = guard(1 <= y "
       "&& y < 113 && 1 <= x && x < 113, X[n, c, y - 1, x - 1], -inf)\n  M[n in 1, c in 64, y in "
       "56, x in 56] = max(r in 3, s in 3) P[n, c, y * 2 + r, x * 2 + s]\n  return M\n}",
       1});
  out.push_back({"global_pool 2048,7,7",
                 "te p(X: f32[1, 2048, 7, 7]) {\n  S[n in 1, c in 2048] = sum(y in 7, x in 7) X[n, "
                 "c, y, x]\n  M[n in 1, c in 2048] = S[n, c] / 49.0\n  return M\n}",
                 1});
  return out;
}

int64_t elements(const ir::Buffer& b) {
  int64_t n = 1;
  for (const ir::Expr& e : b->shape) n *= ir::const_int(e).value();
  return n;
}

/// Seconds that this thread has run.
double cpu_now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Bench {
 public:
  Bench() {
    for (int64_t i = 0; i < 56 * 256; ++i) static_cast<float*>(a_.get())[i] = 1;
    for (int64_t i = 0; i < 32 * 256; ++i) static_cast<float*>(b_.get())[i] = 1;
  }

  void run(const Case& c) {
    const ir::LoopFunc blocks = lower::to_blocks(te::parse_program(c.text));
    std::vector<bench::Memory> data, expected;
    std::vector<void*> buffers, plain_buffers;
    int64_t bytes = 0;
    for (const ir::Param& p : blocks.params) {
      const int64_t n = elements(p.buffer);
      bytes += 4 * n;
      data.push_back(bench::memory(4 * n + 256));
      auto* x = static_cast<float*>(data.back().get());
      for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i * 7919 % 13 - 6) * 0.25f;
      buffers.push_back(x);
      plain_buffers.push_back(x);
      if (p.access == ir::Access::In) continue;
      expected.push_back(bench::memory(4 * n));
      plain_buffers.back() = expected.back().get();
    }
    const double start = cpu_now();
    const ir::LoopFunc chosen = tune::choose(blocks, spec_, constants_of(blocks));
    const double chose = cpu_now();
    const tune::Prepacked parts = tune::prepack(chosen, constants_of(chosen));
    auto kernel = driver::compile_kernel(parts.run, spec_);
    const double compiled = cpu_now();
    std::vector<void*> all = buffers_for(parts.run, blocks, buffers);
    const auto outputs = std::ranges::count_if(
        parts.run.params, [](const ir::Param& p) { return p.access != ir::Access::In; });
    std::vector<bench::Memory> packed;
    if (!parts.packed.empty()) {
      std::vector<void*> prepare = buffers_for(parts.prepare, blocks, buffers);
      for (const ir::Buffer& b : parts.packed) {
        packed.push_back(bench::memory(4 * elements(b) + 256));
        std::memset(packed.back().get(), 0, static_cast<size_t>(4 * elements(b)));
        prepare.push_back(packed.back().get());
        all.insert(all.end() - outputs, packed.back().get());
      }
      driver::compile_kernel(parts.prepare, spec_).call(prepare);
    }
    const bench::ReadyKernel ready(std::move(kernel));
    ready.call(all);
    double error = 0;
    if (c.flops < 5e8) {
      bench::ReadyKernel(driver::compile_kernel(blocks, spec_)).call(plain_buffers);
      size_t out = 0;
      for (size_t i = 0; i < buffers.size(); ++i) {
        if (blocks.params[i].access == ir::Access::In) continue;
        const auto* want = static_cast<float*>(expected[out++].get());
        const auto* got = static_cast<float*>(buffers[i]);
        for (int64_t j = 0; j < elements(blocks.params[i].buffer); ++j)
          error = std::max<double>(error, std::abs(want[j] - got[j]) / (1 + std::abs(want[j])));
      }
    }
    bench::QuietResult r =
        bench::measure_quiet([&] { ready.call(all); }, [&] { canary(); }, 15, 1.0);
    if (r.clean ==
        0) {  // too long to stay undisturbed: the best of a few, by the thread's own time
      r.seconds = 1e9;
      for (int i = 0; i < 10; ++i) {
        const double begin = cpu_now();
        ready.call(all);
        r.seconds = std::min(r.seconds, cpu_now() - begin);
      }
      r.peak = bench::fma_rate(0.05);
    }
    const double copy = copy_time(bytes);
    const double limit = std::max(c.flops / r.peak, copy);
    std::printf(
        "%-24s %9.1f us %7.1f G/s %6.1f %%  of %s  choose %5.1f ms compile %5.1f ms  clean %2d "
        "%s\n",
        c.name.c_str(), r.seconds * 1e6, c.flops / r.seconds * 1e-9, 100 * limit / r.seconds,
        limit == copy ? "copy" : "fmas", (chose - start) * 1e3, (compiled - chose) * 1e3, r.clean,
        error < 1e-4 ? "right" : "WRONG");
    std::fflush(stdout);
    right_ = right_ && error < 1e-4;
    results_.push_back({{"name", c.name},
                        {"seconds", r.seconds},
                        {"share", limit / r.seconds},
                        {"limit", limit == copy ? "copy" : "fmas"},
                        {"choose_seconds", chose - start},
                        {"compile_seconds", compiled - chose},
                        {"clean", r.clean}});
  }

  bool right() const { return right_; }
  const nlohmann::json& results() const { return results_; }

 private:
  static std::vector<std::string> constants_of(const ir::LoopFunc& f) {
    std::vector<std::string> out;
    for (const ir::Param& p : f.params)
      if (p.buffer->name[0] == 'W' || p.buffer->name[0] == 'w') out.push_back(p.buffer->name);
    return out;
  }

  /// The pointers of those parameters of `f` that `blocks` has too, by name.
  static std::vector<void*> buffers_for(const ir::LoopFunc& f, const ir::LoopFunc& blocks,
                                        const std::vector<void*>& buffers) {
    std::vector<void*> out;
    for (const ir::Param& p : f.params)
      for (size_t i = 0; i < blocks.params.size(); ++i)
        if (blocks.params[i].buffer->name == p.buffer->name) out.push_back(buffers[i]);
    return out;
  }

  void canary() const {
    void* buffers[] = {a_.get(), b_.get(), c_.get()};
    canary_.call(buffers);
  }

  /// Of as many bytes, half of them read and half written, by the best of eight loops.
  double copy_time(int64_t bytes) {
    const int64_t cols = 1024, rows = std::max<int64_t>(bytes / 8 / cols, 1);
    const bench::Memory in = bench::memory(rows * cols * 4 + 8192),
                        out = bench::memory(rows * cols * 4 + 8192);
    std::memset(in.get(), 0, static_cast<size_t>(rows * cols * 4));
    const bench::Arrays arrays{.in = static_cast<float*>(in.get()),
                               .out = static_cast<float*>(out.get()),
                               .rows = rows,
                               .cols = cols};
    double best = 1e9;
    for (const bench::Variant& v : bench::variants(bench::Traffic::Copy))
      for (int i = 0; i < 5; ++i) {
        const double start = bench::now();
        v.run(arrays);
        best = std::min(best, bench::now() - start);
      }
    return best * static_cast<double>(bytes) / static_cast<double>(rows * cols * 8);
  }

  const ir::TargetSpec& spec_ = target::host_target();
  bench::Memory a_ = bench::memory(56 * 256 * 4), b_ = bench::memory(32 * 256 * 4),
                c_ = bench::memory(56 * 32 * 4);
  target::llvm::JitKernel canary_ = driver::compile_kernel(
      bench::schedule_gemm(56, 32, 256, {spec_.vector_registers >= 32 ? 14 : 6, 2, 4}, spec_)
          .func(),
      spec_);
  bool right_ = true;
  nlohmann::json results_ = nlohmann::json::array();
};

}  // namespace

int main(int argc, char** argv) {
  std::string only, json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
    if (!std::strcmp(argv[i], "--json")) json = argv[i + 1];
  }
  Bench bench;
  for (const Case& c : all_cases())
    if (c.name.find(only) != std::string::npos) bench.run(c);
  if (!json.empty()) std::ofstream(json) << bench.results().dump(1) << "\n";
  return bench.right() ? 0 : 1;
}
