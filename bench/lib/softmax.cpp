// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

te::Program softmax(int64_t rows, int64_t cols) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {rows, cols});
  const te::Axis k = te::reduce_axis(cols, "k"), j = te::reduce_axis(cols, "j");
  const te::Tensor m =
      te::compute("m", {rows}, [&](te::Var y) { return te::max_over(x(y, k), k); });
  const te::Tensor e =
      te::compute("e", {rows, cols}, [&](te::Var y, te::Var i) { return te::exp(x(y, i) - m(y)); });
  const te::Tensor s = te::compute("s", {rows}, [&](te::Var y) { return te::sum(e(y, j), j); });
  const te::Tensor r = te::compute("r", {rows}, [&](te::Var y) { return 1.0 / s(y); });
  const te::Tensor out =
      te::compute("out", {rows, cols}, [&](te::Var y, te::Var i) { return e(y, i) * r(y); });
  return te::program("softmax", {x}, {out});
}

}  // namespace

Schedule schedule_softmax(int64_t rows, int64_t cols, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  constexpr int64_t kChains = 4;  // partial results beside each other, to cover the latency
  Schedule s(lower::to_blocks(softmax(rows, cols)));
  // The stages of one row together, from the last one up.
  const LoopRef row = s.loops("out")[0];
  for (const char* stage : {"r", "s", "e", "m"}) s.compute_at(s.block(stage), row);

  for (const char* name : {"m", "s"}) {
    const schedule::BlockRef block = s.block(name);
    const LoopRef k = s.loops(block).back();
    const auto [k0, k1] = s.split<2>(k, {kOpen, lanes * kChains});
    const auto [partial, combined] = s.rfactor(block, k1);
    s.set_scope(partial, std::string(name) + "_rf", ir::ScopeKind::Register);
    for (const std::string& b : {std::string(name) + "_rf_init", std::string(name) + "_rf"}) {
      const std::vector<LoopRef> l = s.loops(b);
      const auto [o, i] = s.split<2>(l.back(), {kOpen, lanes});
      s.vectorize(i);
      s.unroll(o);
    }
    const LoopRef c = s.loops(combined).back();
    s.decompose_reduction(combined, c);
    const auto [o, i] = s.split<2>(c, {kOpen, lanes});
    s.vectorize(i);
    s.unroll(o);
  }
  for (const char* name : {"e", "out"}) {
    const LoopRef i = s.loops(name).back();
    const auto [o, u, v] = s.split<3>(i, {kOpen, kChains, lanes});
    s.vectorize(v);
    s.unroll(u);
  }
  return s;
}

}  // namespace bench
