// SPDX-License-Identifier: Apache-2.0
#include "layer_norm.h"

#include "lower/to_blocks.h"
#include "roofs.h"
#include "row_reduction.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::Schedule;

namespace {

te::Program layer_norm(int64_t rows, int64_t cols) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {rows, cols});
  const te::Tensor scale = te::placeholder("scale", ir::Elem::F32, {cols});
  const te::Tensor shift = te::placeholder("shift", ir::Elem::F32, {cols});
  const te::Axis k = te::reduce_axis(cols, "k"), j = te::reduce_axis(cols, "j");
  const double per = 1.0 / static_cast<double>(cols);
  const te::Tensor sum = te::compute("sum", {rows}, [&](te::Var y) { return te::sum(x(y, k), k); });
  const te::Tensor mean = te::compute("mean", {rows}, [&](te::Var y) { return sum(y) * per; });
  const te::Tensor square = te::compute("square", {rows}, [&](te::Var y) {
    return te::sum((x(y, j) - mean(y)) * (x(y, j) - mean(y)), j);
  });
  const te::Tensor r =
      te::compute("r", {rows}, [&](te::Var y) { return 1.0 / te::sqrt(square(y) * per + 1e-5); });
  const te::Tensor out = te::compute("out", {rows, cols}, [&](te::Var y, te::Var i) {
    return (x(y, i) - mean(y)) * r(y) * scale(i) + shift(i);
  });
  return te::program("layer_norm", {x, scale, shift}, {out});
}

}  // namespace

Schedule schedule_layer_norm(int64_t rows, int64_t cols, const ir::TargetSpec& spec) {
  Schedule s(lower::to_blocks(layer_norm(rows, cols)));
  // All stages of some rows together, from the last one up.
  const auto [tile, row] = s.split<2>(s.loops("out")[0], {schedule::kOpen, kRowTile});
  for (const char* stage : {"r", "square", "mean", "sum"}) s.compute_at(s.block(stage), tile);
  reduce_in_chains(s, "sum", "sum", 2, spec);
  reduce_in_chains(s, "square", "square", 2, spec);
  for (const char* stage : {"r", "mean"}) s.unroll(s.loops(stage).back());
  for (const char* stage : {"r", "square", "mean", "sum"})
    s.set_scope(s.block(stage), stage, ir::ScopeKind::Register);
  map_in_vectors(s, "out", 2, spec);
  return s;
}

}  // namespace bench
