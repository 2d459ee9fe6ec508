// SPDX-License-Identifier: Apache-2.0
// A recurrence over time: h[t] = max(x[t] + U · h[t - 1], 0). Time stays in order; a step may only
// touch what happens inside of one moment, and is refused otherwise.
//   scan [--svg FILE]
#include "walk.h"

using namespace example;

static te::Program recurrence(int64_t steps, int64_t n) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {steps, n});
  const te::Tensor u = te::placeholder("U", ir::Elem::F32, {n, n});  // U[j, i]
  const te::Tensor h0 = te::placeholder("h0", ir::Elem::F32, {n});
  const te::Tensor h = te::scan("h", steps, h0, [&](te::Var t, te::Tensor prev) {
    const te::Axis j = te::reduce_axis(n, "j");
    const te::Tensor r = te::compute(
        "r", {n}, [&](te::Var i) { return te::sum(u(j, i) * prev(j) * (1.0 / 1024), j); });
    return te::compute("next", {n}, [&](te::Var i) { return te::max(x(t, i) + r(i), 0.0); });
  });
  return te::program("recurrence", {x, u, h0}, {h});
}

int main(int argc, char** argv) {
  constexpr int64_t kSteps = 64, kSize = 256;
  const int64_t lanes = target::host_target().lanes(32);
  std::printf("recurrence, %lld steps of %lld\n", static_cast<long long>(kSteps),
              static_cast<long long>(kSize));
  Walk walk(recurrence(kSteps, kSize), 2.0 * kSteps * kSize * kSize, bench::fma_rate(0.3),
            "GFLOP/s");
  schedule::Schedule& s = walk.schedule;

  walk.show("plain loops");
  const std::vector<schedule::LoopRef> loops = s.loops("r");
  try {
    s.parallel(loops[0]);
  } catch (const Error& e) {
    std::printf("    (time cannot be parallel: %s)\n", e.diagnostic.notes.at(0).c_str());
  }
  const schedule::LoopRef i = loops[loops.size() - 2], j = loops.back();
  const auto [i0, i1] = s.split<2>(i, {kOpen, 8 * lanes});
  s.reorder({j, i1});
  const schedule::BlockRef zeros = s.decompose_reduction(s.block("r"), j);
  const auto [i2, i3] = s.split<2>(i1, {kOpen, lanes});
  s.vectorize(i3);
  s.vectorize(s.split<2>(s.loops(zeros).back(), {kOpen, lanes})[1]);
  walk.show("rows of U as vectors, eight beside each other");
  s.unroll(i2);
  walk.show("unrolled");
  return walk.finish(argc, argv);
}
