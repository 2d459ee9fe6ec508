// SPDX-License-Identifier: Apache-2.0
// A reducer of the user's own: (m, s) stands for s · exp(m), so that log-sum-exp is one pass over a
// row. Two numbers are combined together, and partial results make the pass parallel like any sum.
//   reducer [--svg FILE]
#include "walk.h"

using namespace example;

static ir::Reducer log_sum_exp() {
  return te::reducer("log_sum_exp", {ir::Elem::F32, ir::Elem::F32},
                     [](const te::Tuple& x, const te::Tuple& y) {
                       const te::Expr m = te::max(x[0], y[0]);
                       return te::Tuple{m, x[1] * te::exp(x[0] - m) + y[1] * te::exp(y[0] - m)};
                     },
                     {-3.0e38, 0});
}

static te::Program row_log_sum_exp(int64_t rows, int64_t cols) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {rows, cols});
  const te::Axis k = te::reduce_axis(cols, "k");
  const std::vector<te::Tensor> ms = te::compute(
      {"m", "s"}, {rows}, [&](te::Var y) { return te::reduce(log_sum_exp(), {x(y, k), 1}, k); });
  const te::Tensor out =
      te::compute("out", {rows}, [&](te::Var y) { return ms[0](y) + te::log(ms[1](y)); });
  return te::program("row_log_sum_exp", {x}, {out});
}

int main(int argc, char** argv) {
  constexpr int64_t kRows = 256, kCols = 1024;
  const int64_t lanes = target::host_target().lanes(32);
  std::printf("log-sum-exp, %lld rows of %lld; peak: one element per FMA lane and 32 FMAs\n",
              static_cast<long long>(kRows), static_cast<long long>(kCols));
  Walk walk(row_log_sum_exp(kRows, kCols), 1.0 * kRows * kCols, bench::fma_rate(0.3) / 64,
            "G elem/s");
  schedule::Schedule& s = walk.schedule;

  walk.show("one pass over each row");
  const auto [y, k] = s.loops<2>("m");
  const auto [k0, k1] = s.split<2>(k, {kOpen, lanes * 2});
  const auto [partial, whole] = s.rfactor(s.block("m"), k1);
  walk.show("partial results along the row");
  for (const char* block : {"m_rf_init", "m_rf"}) {
    const auto [o, i] = s.split<2>(s.loops(block).back(), {kOpen, lanes});
    s.vectorize(i);
  }
  walk.show("partial results as vectors");
  return walk.finish(argc, argv);
}
