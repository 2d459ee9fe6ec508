// SPDX-License-Identifier: Apache-2.0
// From three nested loops to the machine's limit in a dozen steps. After each step the program is
// compiled, checked against the plain loops and timed.
//
//   matmul [--print] [--csv FILE]
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "driver/kernel.h"
#include "ir/print.h"
#include "lower/to_blocks.h"
#include "measure.h"
#include "schedule/schedule.h"
#include "target/host.h"
#include "te/te.h"

using namespace tilewright;

namespace {

constexpr int64_t kSize = 512;

/// C = A · B, with B kept in panels of `width` columns: Bp[x / width, k, x % width].
te::Program matmul(int64_t m, int64_t n, int64_t k, int64_t width) {
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {m, k});
  const te::Tensor b = te::placeholder("B", ir::Elem::F32, {n / width, k, width});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor c = te::compute("C", {m, n}, [&](te::Var y, te::Var x) {
    return te::sum(a(y, kk) * b(x / width, kk, x % width), kk);
  });
  return te::program("matmul", {a, b}, {c});
}

struct Run {
  std::vector<float> a, b, c, expected;
  Run() : a(kSize * kSize), b(kSize * kSize), c(kSize * kSize) {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>((i * 7919) % 17) - 8.0f;
      b[i] = static_cast<float>((i * 104729) % 13) - 6.0f;
    }
  }
};

/// Compiles, checks and times; prints one row.
double show(const char* what, const schedule::Schedule& s, const ir::TargetSpec& spec, Run& run,
            double peak) {
  const auto kernel = driver::compile_kernel(s.func(), spec);
  void* buffers[] = {run.a.data(), run.b.data(), run.c.data()};
  std::memset(run.c.data(), 0xff, run.c.size() * sizeof(float));
  kernel.call(buffers);
  if (run.expected.empty()) run.expected = run.c;
  // Small integers: every order of the sums gives the same floats.
  const bool right = run.expected == run.c;
  std::vector<double> times;
  const double end = bench::now() + 0.4;
  while (times.size() < 3 || bench::now() < end) {
    const double start = bench::now();
    kernel.call(buffers);
    times.push_back(bench::now() - start);
  }
  const double rate = 2.0 * kSize * kSize * kSize / bench::quantile(times, 0.2);
  std::printf("%-44s %8.2f GFLOP/s  %5.1f %% of peak  %s\n", what, rate * 1e-9, 100 * rate / peak,
              right ? "right" : "WRONG");
  return rate;
}

}  // namespace

int main() {
  const ir::TargetSpec spec = target::host_target();
  const int64_t lanes = spec.lanes(32);
  const int64_t rows = spec.vector_registers >= 32 ? 14 : 6;
  const int64_t cols = 2 * lanes;
  const double peak = bench::fma_rate(0.3);
  std::printf("%s, f32 %lld x %lld x %lld, FMA peak %.1f GFLOP/s on one core\n", spec.cpu.c_str(),
              static_cast<long long>(kSize), static_cast<long long>(kSize),
              static_cast<long long>(kSize), peak * 1e-9);
  Run run;
  using schedule::kOpen;
  schedule::Schedule s(lower::to_blocks(matmul(kSize, kSize, kSize, cols)));

  show("1  three nested loops", s, spec, run, peak);
  const schedule::BlockRef c = s.block("C");
  const auto [y, x, k] = s.loops<3>("C");
  const auto [x0, x1] = s.split<2>(x, {kOpen, cols});
  show("2  columns split into panels", s, spec, run, peak);
  const auto [y0, y1] = s.split<2>(y, {kOpen, rows});
  s.reorder({x0, y0, k, y1, x1});
  show("3  tiles of rows and columns, k outside", s, spec, run, peak);
  const schedule::BlockRef out = s.cache_write(c, "C", ir::ScopeKind::Register);
  s.reverse_compute_at(out, y0);
  show("4  result collected per tile", s, spec, run, peak);
  const schedule::BlockRef init = s.decompose_reduction(c, k);
  show("5  zeros set before the k loop", s, spec, run, peak);
  const auto [x1o, x1i] = s.split<2>(x1, {kOpen, lanes});
  s.vectorize(x1i);
  show("6  columns as vectors", s, spec, run, peak);
  s.unroll(x1o);
  s.unroll(y1);
  show("7  tile unrolled into registers", s, spec, run, peak);
  for (const schedule::BlockRef& b : {init, out}) {
    const auto loops = s.loops(b);
    const schedule::LoopRef row = loops[loops.size() - 2];
    const auto [o, i] = s.split<2>(loops.back(), {kOpen, lanes});
    s.vectorize(i);
    s.unroll(o);
    s.unroll(row);
  }
  show("8  zeros and results as vectors too", s, spec, run, peak);
  const auto [k0, k1] = s.split<2>(k, {kOpen, 4});
  s.unroll(k1);
  show("9  k unrolled by 4", s, spec, run, peak);
  std::printf("\n%s", schedule::print(s.trace()).c_str());
  return 0;
}
