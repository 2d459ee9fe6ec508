// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

te::Program gemm(int64_t m, int64_t n, int64_t k, int64_t cols) {
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {m, k});
  const te::Tensor b = te::placeholder("B", ir::Elem::F32, {(n + cols - 1) / cols, k, cols});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor c = te::compute("C", {m, n}, [&](te::Var y, te::Var x) {
    return te::sum(a(y, kk) * b(x / cols, kk, x % cols), kk);
  });
  return te::program("gemm", {a, b}, {c});
}

/// The loop as lanes and unrolled vectors.
void as_vectors(Schedule& s, const LoopRef& loop, int64_t lanes) {
  const auto [outer, inner] = s.split<2>(loop, {kOpen, lanes});
  s.vectorize(inner);
  s.unroll(outer);
}

}  // namespace

Schedule schedule_gemm(int64_t m, int64_t n, int64_t k, const GemmTile& tile,
                       const ir::TargetSpec& spec) {
  const int64_t lanes = spec.lanes(32);
  const int64_t cols = lanes * tile.vectors;
  Schedule s(lower::to_blocks(gemm(m, n, k, cols)));
  // Rows of A that are a multiple of 2 KiB apart fall into the same sets of the first cache: copy
  // them into columns of one line each.
  const bool columns = k * 4 % 2048 == 0;
  constexpr int64_t kLine = 16;
  if (columns) {
    const schedule::BlockRef copy = s.cache_read(s.block("C"), "A", ir::ScopeKind::Global);
    const ir::Var i("i"), j("j");
    s.transform_layout(copy, "A_global", {{i, j}, {j / kLine, i, j % kLine}});
    const std::vector<LoopRef> own = s.loops(copy);
    const auto [outer, inner] = s.split<2>(own[1], {kOpen, kLine});
    if (kLine % lanes == 0) as_vectors(s, inner, lanes);
    if (tile.parallel) s.parallel(own[0]);
  }
  const auto [y, x, kk] = s.loops<3>("C");
  const auto [x0, x1] = s.split<2>(x, {kOpen, cols});
  s.reorder({x0, y, kk, x1});

  // Balanced row tiles: `more` of them have one row more than the others.
  const int64_t tiles = (m + tile.rows - 1) / tile.rows;
  const int64_t rows = m / tiles, more = m % tiles;
  std::vector<std::pair<std::string, int64_t>> parts = {{"C", rows}};
  if (more > 0) {
    s.partition(y, {more * (rows + 1)});
    parts = {{"C", rows + 1}, {"C_part1", rows}};
  }
  for (const auto& [name, height] : parts) {
    const schedule::BlockRef c = s.block(name);
    const std::vector<LoopRef> own = s.loops(c);  // x0, y, k, x1
    const auto [y0, y1] = s.split<2>(own[1], {kOpen, height});
    s.reorder({y0, own[2], y1, own[3]});
    const schedule::BlockRef out = s.cache_write(c, "C", ir::ScopeKind::Register);
    s.reverse_compute_at(out, y0);
    const schedule::BlockRef init = s.decompose_reduction(c, own[2]);
    as_vectors(s, own[3], lanes);
    s.unroll(y1);
    if (tile.unroll > 1) {
      // A column is one line long, so that its index needs no division inside.
      const std::vector<LoopRef> parts =
          columns ? s.split(own[2], {kOpen, kLine / tile.unroll, tile.unroll})
                  : s.split(own[2], {kOpen, tile.unroll});
      s.unroll(parts.back());
    }
    for (const schedule::BlockRef& b : {init, out}) {
      const std::vector<LoopRef> loops = s.loops(b);
      as_vectors(s, loops.back(), lanes);
      s.unroll(loops[loops.size() - 2]);
    }
  }
  if (tile.parallel) s.parallel(x0);
  return s;
}

}  // namespace bench
