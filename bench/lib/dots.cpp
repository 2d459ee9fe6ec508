// SPDX-License-Identifier: Apache-2.0
#include "dots.h"

#include <immintrin.h>

#include "lower/to_blocks.h"
#include "te/te.h"

namespace bench {

using namespace tilewright;
using ir::Elem;
using schedule::kOpen;
using schedule::LoopRef;
using schedule::Schedule;

namespace {

te::Program bytes(int64_t m, int64_t n, int64_t k, int64_t lanes) {
  const te::Tensor a = te::placeholder("A", Elem::U8, {m, k});
  const te::Tensor b = te::placeholder("B", Elem::I8, {n / lanes, k / 4, lanes, 4});
  const te::Axis kk = te::reduce_axis(k, "k");
  const te::Tensor c = te::compute("C", {m, n}, [&](te::Var y, te::Var x) {
    return te::sum(te::cast(Elem::I32, a(y, kk)) *
                       te::cast(Elem::I32, b(x / lanes, kk / 4, x % lanes, kk % 4)),
                   kk);
  });
  return te::program("bytes", {a, b}, {c});
}

te::Program bits(int64_t m, int64_t n, int64_t k, int64_t lanes) {
  const te::Tensor a = te::placeholder("A", Elem::U8, {2, m, k / 8});
  const te::Tensor b = te::placeholder("B", Elem::U8, {n / lanes, k / 32, lanes, 4});
  const te::Axis kk = te::reduce_axis(k / 8, "k");
  const te::Tensor p = te::compute("P", {2, m, n}, [&](te::Var q, te::Var y, te::Var x) {
    return te::sum(
        te::cast(Elem::I32, te::popcount(a(q, y, kk) & b(x / lanes, kk / 4, x % lanes, kk % 4))),
        kk);
  });
  const te::Tensor c = te::compute(
      "C", {m, n}, [&](te::Var y, te::Var x) { return p(0, y, x) + (p(1, y, x) << 1); });
  return te::program("bits", {a, b}, {c});
}

void unroll_inner(Schedule& s, const std::vector<LoopRef>& loops, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) s.unroll(loops[i]);
}

}  // namespace

Schedule schedule_bytes(int64_t m, int64_t n, int64_t k, const DotTile& tile,
                        const ir::TargetSpec& spec) {
  Schedule s(lower::to_blocks(bytes(m, n, k, tile.lanes)), spec.instructions);
  const schedule::BlockRef c = s.block("C");
  const schedule::BlockRef out = s.cache_write(c, "C", ir::ScopeKind::Register);
  const auto [y, x, kk] = s.loops<3>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, tile.rows});
  const auto [x0, x1, x2] = s.split<3>(x, {kOpen, tile.vectors, tile.lanes});
  const auto [k0, k1, k2] = s.split<3>(kk, {kOpen, tile.unroll, 4});
  s.reorder({x0, y0, k0, k1, y1, x1, x2, k2});
  s.reverse_compute_at(out, y0);
  const schedule::BlockRef dots = s.tensorize(x2, tile.instruction);
  const schedule::BlockRef init = s.decompose_reduction(dots, k0);
  for (const LoopRef& l : {k1, y1, x1}) s.unroll(l);
  const std::vector<LoopRef> zero = s.loops(init);
  unroll_inner(s, zero, 2, zero.size());
  const std::vector<LoopRef> copy = s.loops(out);
  const auto [v, l] = s.split<2>(copy.back(), {kOpen, tile.lanes});
  s.vectorize(l);
  s.unroll(v);
  s.unroll(copy[copy.size() - 2]);
  return s;
}

Schedule schedule_bits(int64_t m, int64_t n, int64_t k, const DotTile& tile,
                       const ir::TargetSpec& spec) {
  Schedule s(lower::to_blocks(bits(m, n, k, tile.lanes)), spec.instructions);
  s.set_scope(s.block("P"), "P", ir::ScopeKind::Register);
  const auto [y, x] = s.loops<2>("C");
  const auto [y0, y1] = s.split<2>(y, {kOpen, tile.rows});
  const auto [x0, x1] = s.split<2>(x, {kOpen, tile.vectors * tile.lanes});
  s.reorder({x0, y0, y1, x1});
  s.compute_at(s.block("P"), y0);
  const auto [v, l] = s.split<2>(x1, {kOpen, tile.lanes});
  s.vectorize(l);
  s.unroll(v);
  s.unroll(y1);
  const std::vector<LoopRef> own = s.loops("P");  // x0 y0 q y x k
  const auto [p0, p1] = s.split<2>(own[4], {kOpen, tile.lanes});
  const auto [k0, k1, k2] = s.split<3>(own[5], {kOpen, tile.unroll, 4});
  s.reorder({k0, k1, own[2], own[3], p0, p1, k2});
  const schedule::BlockRef dots = s.tensorize(p1, tile.instruction);
  const schedule::BlockRef init = s.decompose_reduction(dots, k0);
  for (const LoopRef& u : {k1, own[2], own[3], p0}) s.unroll(u);
  const std::vector<LoopRef> zero = s.loops(init);
  unroll_inner(s, zero, 2, zero.size());
  return s;
}

#define TW_ALL(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)
#define TW_DECLARE(i) __m512i c##i = _mm512_set1_epi32(i);
#define TW_STEP(i)                        \
  c##i = _mm512_dpbusd_epi32(c##i, a, b); \
  __asm__ volatile("" : "+v"(c##i));
__attribute__((target("avx512f,avx512vnni"))) void vnni_loop(int64_t iterations) {
  const __m512i a = _mm512_set1_epi32(0x01020304), b = _mm512_set1_epi32(0x04030201);
  TW_ALL(TW_DECLARE)
  for (int64_t k = 0; k < iterations; ++k) {
    TW_ALL(TW_STEP)
  }
}

}  // namespace bench
