// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "lower/to_blocks.h"
#include "roofs.h"
#include "row_reduction.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Number;
using schedule::Schedule;

namespace {

/// The maximum and the sum are taken over partial results for each lane of two vectors.
te::Program softmax(int64_t rows, int64_t cols, int64_t chains) {
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {rows, cols});
  const te::Axis k = te::reduce_axis(cols / chains, "k"), l = te::reduce_axis(chains, "l"),
                 j = te::reduce_axis(cols / chains, "j"), c = te::reduce_axis(chains, "c");
  // NaN need not win here: it reaches every result of its row through the sum. The new term stands
  // last, where an instruction for the maximum can take it from memory.
  const ir::Reducer greater = te::reducer("greater", {ir::Elem::F32},
                                          [](const te::Tuple& a, const te::Tuple& b) {
                                            return te::Tuple{te::select(b[0] < a[0], a[0], b[0])};
                                          },
                                          {te::Expr(-std::numeric_limits<float>::infinity())});
  const te::Tensor top = te::compute("top", {rows, chains}, [&](te::Var y, te::Var i) {
    return te::reduce(greater, {x(y, k * chains + i)}, k)[0];
  });
  const te::Tensor m =
      te::compute("m", {rows}, [&](te::Var y) { return te::max_over(top(y, l), l); });
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

/// The loops `row, i` at the end: all rows at once, i as lanes. A single row has no loop at times.
void as_vectors(Schedule& s, const BlockRef& block) {
  const std::vector<LoopRef> loops = s.loops(block);
  s.vectorize(loops.back());
  if (loops.size() > 2) s.unroll(loops[loops.size() - 2]);
}

/// Partial results, kept in registers from before the loop `over` on, and the reduction of them.
void in_registers(Schedule& s, const char* partial, const LoopRef& over, const char* result) {
  const BlockRef start = s.decompose_reduction(s.block(partial), over);
  s.decompose_reduction(s.block(result), s.loops(result).back());
  for (const BlockRef& b : {start, s.block(partial), s.block(result)}) as_vectors(s, b);
  s.set_scope(s.block(partial), partial, ir::ScopeKind::Register);
}

}  // namespace

Schedule schedule_softmax(int64_t rows, int64_t cols, const ir::TargetSpec& spec) {
  const int64_t chains = 2 * spec.lanes(32);
  Schedule s(lower::to_blocks(softmax(rows, cols, chains)));
  // All stages of a row together, from the last one up.
  const auto [tile, row] = s.split<2>(s.loops("out")[0], {kOpen, 1});
  for (const char* stage : {"r", "s", "part", "e", "m", "top"}) s.compute_at(s.block(stage), tile);

  const auto [top_tile, top_row, top_lane, top_col] = s.loops<4>("top");
  s.reorder({top_col, top_row, top_lane});
  in_registers(s, "top", top_col, "m");

  // The partial sums in the loop that makes e.
  const auto [e_tile, e_row, e_col] = s.loops<3>("e");
  const auto [e_out, e_in] = s.split<2>(e_col, {kOpen, chains});
  s.reorder({e_out, e_row});
  const auto [part_tile, part_row, part_lane, part_col] = s.loops<4>("part");
  s.reorder({part_col, part_row, part_lane});
  const LoopRef sums = s.merge(e_out, part_col);
  in_registers(s, "part", sums, "s");
  s.set_scope(s.block("s"), "s", ir::ScopeKind::Register);
  as_vectors(s, s.block("e"));
  s.unroll(s.loops("r").back());
  map_in_vectors(s, "out", 2, spec);

  // The exponentials keep the FMA units busy; the loads and stores of the other two passes fit in
  // between, for other rows: so far apart that none waits for a maximum, a sum or a quotient.
  enum { kTopInit, kTop, kM, kPartInit, kE, kS, kR, kOut };
  const LoopRef all =
      s.stagger(tile, {0, 0, 0, 2, 2, 2, 3, 4}, {kTopInit, kPartInit, kTop, kE, kOut, kM, kS, kR});
  s.merge(s.merge(top_col, sums), s.loops("out")[1]);
  // Nothing is asked in the inner loops at the borders either.
  std::vector<Number> borders = {2, 3, 4, rows, rows + 2, rows + 3};
  std::sort(borders.begin(), borders.end(),
            [](const Number& a, const Number& b) { return a.value < b.value; });
  s.partition(all, borders);
  return s;
}

}  // namespace bench
