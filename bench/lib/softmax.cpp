// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#include "lower/to_blocks.h"
#include "roofs.h"
#include "row_reduction.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

/// The sum is one of partial sums over `chains` columns, which can be had while e is made.
te::Program softmax(int64_t rows, int64_t cols, int64_t chains) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {rows, cols});
  const te::Axis k = te::reduce_axis(cols, "k"), j = te::reduce_axis(cols / chains, "j"),
                 c = te::reduce_axis(chains, "c");
  const te::Tensor m =
      te::compute("m", {rows}, [&](te::Var y) { return te::max_over(x(y, k), k); });
  const te::Tensor e =
      te::compute("e", {rows, cols}, [&](te::Var y, te::Var i) { return te::exp(x(y, i) - m(y)); });
  const te::Tensor part = te::compute("part", {rows, chains}, [&](te::Var y, te::Var i) {
    return te::sum(e(y, j * chains + i), j);
  });
  const te::Tensor s = te::compute("s", {rows}, [&](te::Var y) { return te::sum(part(y, c), c); });
  const te::Tensor r = te::compute("r", {rows}, [&](te::Var y) { return 1.0 / s(y); });
  const te::Tensor out =
      te::compute("out", {rows, cols}, [&](te::Var y, te::Var i) { return e(y, i) * r(y); });
  return te::program("softmax", {x}, {out});
}

}  // namespace

Schedule schedule_softmax(int64_t rows, int64_t cols, const ir::TargetSpec& spec) {
  const int64_t chains = 2 * spec.lanes(32);
  Schedule s(lower::to_blocks(softmax(rows, cols, chains)));
  // All stages of some rows together, from the last one up.
  const auto [tile, row] = s.split<2>(s.loops("out")[0], {kOpen, kRowTile});
  for (const char* stage : {"r", "s", "part", "e", "m"}) s.compute_at(s.block(stage), tile);
  reduce_in_chains(s, "m", "m", 1, spec);

  // The partial sums in the loop that makes e.
  const auto [e_tile, e_row, e_col] = s.loops<3>("e");
  const auto [e_out, e_in] = s.split<2>(e_col, {kOpen, chains});
  s.reorder({e_out, e_row});
  const auto [part_tile, part_row, part_lane, part_col] = s.loops<4>("part");
  s.reorder({part_col, part_row, part_lane});
  const LoopRef joined = s.merge(e_out, part_col);
  const BlockRef start = s.decompose_reduction(s.block("part"), joined);
  const auto [s_tile, s_row, s_lane] = s.loops<3>("s");
  s.decompose_reduction(s.block("s"), s_lane);
  for (const BlockRef& b : {start, s.block("e"), s.block("part"), s.block("s")}) {
    const std::vector<LoopRef> loops = s.loops(b);
    s.vectorize(loops.back());
    s.unroll(loops[loops.size() - 2]);
  }
  s.unroll(s.loops("r").back());
  for (const char* stage : {"m", "part", "s", "r"})
    s.set_scope(s.block(stage), stage, ir::ScopeKind::Register);
  map_in_vectors(s, "out", 2, spec);
  return s;
}

}  // namespace bench
