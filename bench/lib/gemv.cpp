// SPDX-License-Identifier: Apache-2.0
#include "gemv.h"

#include "lower/to_blocks.h"
#include "row_reduction.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::BlockRef;
using schedule::kOpen;
using schedule::Schedule;

Schedule schedule_gemv(int64_t m, int64_t k, const ir::TargetSpec& spec) {
  // Rows share the reads of x, which matters as long as A comes from the first cache; farther away
  // the machine fetches few rows ahead at once.
  const int64_t bytes = m * k * 4;
  const int64_t rows = bytes <= spec.l1_bytes ? 8 : bytes <= spec.l2_bytes ? 2 : 1;
  const int64_t chains = rows == 8 ? 1 : 4;
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {m, k});
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {k});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor y =
      te::compute("y", {m}, [&](te::Var i) { return te::sum(a(i, kk) * x(kk), kk); });
  Schedule s(lower::to_blocks(te::program("gemv", {a, x}, {y})));
  const BlockRef copy = s.cache_write(s.block("y"), "y", ir::ScopeKind::Register);
  const auto [tile, row] = s.split<2>(s.loops(copy)[0], {kOpen, rows});
  s.unroll(row);
  s.compute_at(s.block("y"), tile);
  reduce_in_chains(s, "y", "y_register", chains, spec);
  return s;
}

Schedule schedule_gemv_transposed(int64_t k, int64_t n, const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  constexpr int64_t kVectors = 8;
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {k, n});
  const te::Tensor x = te::placeholder("x", ir::Elem::F32, {k});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor y =
      te::compute("y", {n}, [&](te::Var i) { return te::sum(x(kk) * a(kk, i), kk); });
  Schedule s(lower::to_blocks(te::program("gemv_transposed", {a, x}, {y})));
  const BlockRef copy = s.cache_write(s.block("y"), "y", ir::ScopeKind::Register);
  const auto [tile, i] = s.split<2>(s.loops(copy)[0], {kOpen, kVectors * lanes});
  s.compute_at(s.block("y"), tile);
  const auto [own_tile, column, row] = s.loops<3>("y");
  s.reorder({row, column});
  const BlockRef init = s.decompose_reduction(s.block("y"), row);
  for (const BlockRef& b : {init, s.block("y"), copy}) {
    const auto [vector, lane] = s.split<2>(s.loops(b).back(), {kOpen, lanes});
    s.vectorize(lane);
    s.unroll(vector);
  }
  return s;
}

}  // namespace bench
