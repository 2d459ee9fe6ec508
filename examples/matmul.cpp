// SPDX-License-Identifier: Apache-2.0
// From three nested loops to the machine's limit in a dozen steps.
//   matmul [--svg FILE]
#include "walk.h"

using namespace example;

/// C = A · B, with B kept in panels of `width` columns: B[x / width, k, x % width].
static te::Program matmul(int64_t m, int64_t n, int64_t k, int64_t width) {
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {m, k});
  const te::Tensor b = te::placeholder("B", ir::Elem::F32, {n / width, k, width});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor c = te::compute("C", {m, n}, [&](te::Var y, te::Var x) {
    return te::sum(a(y, kk) * b(x / width, kk, x % width), kk);
  });
  return te::program("matmul", {a, b}, {c});
}

int main(int argc, char** argv) {
  constexpr int64_t kSize = 512;
  const ir::TargetSpec spec = target::host_target();
  const int64_t lanes = spec.lanes(32);
  const int64_t rows = spec.vector_registers >= 32 ? 14 : 6;
  const int64_t cols = 2 * lanes;
  std::printf("f32 matmul, %lld cubed, one core, against the FMA peak\n",
              static_cast<long long>(kSize));
  Walk walk(matmul(kSize, kSize, kSize, cols), 2.0 * kSize * kSize * kSize, bench::fma_rate(0.3),
            "GFLOP/s");
  schedule::Schedule& s = walk.schedule;

  walk.show("three nested loops");
  const schedule::BlockRef c = s.block("C");
  const auto [y, x, k] = s.loops<3>("C");
  const auto [x0, x1] = s.split<2>(x, {kOpen, cols});
  walk.show("columns split into panels");
  const auto [y0, y1] = s.split<2>(y, {kOpen, rows});
  s.reorder({x0, y0, k, y1, x1});
  walk.show("tiles of rows and columns, k outside");
  const schedule::BlockRef out = s.cache_write(c, "C", ir::ScopeKind::Register);
  s.reverse_compute_at(out, y0);
  walk.show("result collected per tile");
  const schedule::BlockRef init = s.decompose_reduction(c, k);
  walk.show("zeros set before the k loop");
  const auto [x1o, x1i] = s.split<2>(x1, {kOpen, lanes});
  s.vectorize(x1i);
  walk.show("columns as vectors");
  s.unroll(x1o);
  s.unroll(y1);
  walk.show("tile unrolled into registers");
  for (const schedule::BlockRef& b : {init, out}) {
    const auto loops = s.loops(b);
    const schedule::LoopRef row = loops[loops.size() - 2];
    const auto [o, i] = s.split<2>(loops.back(), {kOpen, lanes});
    s.vectorize(i);
    s.unroll(o);
    s.unroll(row);
  }
  walk.show("zeros and results as vectors too");
  const auto [k0, k1] = s.split<2>(k, {kOpen, 4});
  s.unroll(k1);
  walk.show("k unrolled by 4");
  return walk.finish(argc, argv);
}
