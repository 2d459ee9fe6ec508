// SPDX-License-Identifier: Apache-2.0
// Softmax over rows: three passes brought into one loop over rows, and reductions made vectors by
// partial results.
//   softmax [--svg FILE]
#include "walk.h"

using namespace example;

static te::Program softmax(int64_t rows, int64_t cols) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {rows, cols});
  const te::Axis k = te::reduce_axis(cols, "k"), j = te::reduce_axis(cols, "j");
  const te::Tensor m =
      te::compute("m", {rows}, [&](te::Var y) { return te::max_over(x(y, k), k); });
  const te::Tensor e =
      te::compute("e", {rows, cols}, [&](te::Var y, te::Var i) { return te::exp(x(y, i) - m(y)); });
  const te::Tensor s = te::compute("s", {rows}, [&](te::Var y) { return te::sum(e(y, j), j); });
  const te::Tensor out =
      te::compute("out", {rows, cols}, [&](te::Var y, te::Var i) { return e(y, i) / s(y); });
  return te::program("softmax", {x}, {out});
}

int main(int argc, char** argv) {
  constexpr int64_t kRows = 256, kCols = 512;
  const int64_t lanes = target::host_target().lanes(32);
  std::printf("f32 softmax, %lld rows of %lld; peak: one element per FMA lane and 16 FMAs\n",
              static_cast<long long>(kRows), static_cast<long long>(kCols));
  Walk walk(softmax(kRows, kCols), 1.0 * kRows * kCols, bench::fma_rate(0.3) / 32, "G elem/s");
  schedule::Schedule& s = walk.schedule;

  walk.show("four stages, one after another");
  const schedule::LoopRef row = s.loops("out")[0];
  for (const char* stage : {"s", "e", "m"}) s.compute_at(s.block(stage), row);
  walk.show("the stages of one row together");
  for (const char* stage : {"e", "out"}) {
    const auto [o, i] = s.split<2>(s.loops(stage).back(), {kOpen, lanes});
    s.vectorize(i);
  }
  walk.show("elementwise stages as vectors");
  for (const std::string stage : {"m", "s"}) {
    const auto [k0, k1] = s.split<2>(s.loops(stage).back(), {kOpen, lanes * 4});
    const auto [partial, whole] = s.rfactor(s.block(stage), k1);
    s.set_scope(partial, stage + "_rf", ir::ScopeKind::Register);
    s.decompose_reduction(whole, s.loops(whole).back());
    for (const std::string& block : {stage + "_rf_init", stage + "_rf", stage}) {
      const auto [o, i] = s.split<2>(s.loops(block).back(), {kOpen, lanes});
      s.vectorize(i);
      s.unroll(o);
    }
  }
  walk.show("four vectors of partial results for each reduction");
  return walk.finish(argc, argv);
}
