// SPDX-License-Identifier: Apache-2.0
// Loops that copy and compute, for the steps that let both overlap.
#pragma once

#include "ir/check/check.h"
#include "lower/to_blocks.h"
#include "schedule/fixtures.h"
#include "te/te.h"

namespace tilewright::schedule {

/// A statement that fills a buffer of the iteration, and one that uses it; `n` rows, and a symbol
/// for them where n < 0.
inline ir::LoopFunc rows(int n) {
  const std::string count = n < 0 ? "n" : std::to_string(n);
  return ir::parse_function("loops rows(A: in f32[" + count + ", 4], C: out f32[" + count + "])" +
                            (n < 0 ? " where n in 0..100" : "") + " {\n  for i in 0.." + count +
                            R"( {
    alloc B: f32[4] shared
    for j in 0..4 { block B(vi: spatial )" +
                            count + R"( = i, vj: spatial 4 = j)
      reads A[vi, vj] writes B[vj] { B[vj] = A[vi, vj] * 2.0 } }
    for j in 0..4 { block C(vi: spatial )" +
                            count + R"( = i, vj: reduce 4 = j)
      reads B[vj] writes C[vi] { init { C[vi] = 0.0 } C[vi] sum= B[vj] } }
  }
})");
}

inline ir::LoopFunc te_matmul(int m, int n, int k) {
  const te::Tensor a = te::placeholder("A", ir::Elem::F32, {m, k});
  const te::Tensor b = te::placeholder("B", ir::Elem::F32, {k, n});
  const te::Axis r = te::reduce_axis(k, "k");
  const te::Tensor c =
      te::compute("C", {m, n}, [&](te::Var y, te::Var x) { return te::sum(a(y, r) * b(r, x), r); });
  return lower::to_blocks(te::program("matmul", {a, b}, {c}));
}

/// Tiles on blocks, whose copies of A and B live for one step `k_0` of the reduction.
struct TiledMatmul {
  Schedule s;
  LoopRef step;
  explicit TiledMatmul(const ir::LoopFunc& f) : s(f) {
    const BlockRef c = s.block("C");
    const BlockRef a = s.cache_read(c, "A", ir::ScopeKind::Shared);
    const BlockRef b = s.cache_read(c, "B", ir::ScopeKind::Shared);
    const auto loops = s.loops(c);
    const auto tiles = s.tile({loops[0], loops[1]}, {4, 8});
    const auto steps = s.split<2>(loops[2], {kOpen, 3});
    s.reorder({tiles[0], tiles[1], steps[0], tiles[2], tiles[3], steps[1]});
    s.compute_at(a, steps[0]);
    s.compute_at(b, steps[0]);
    s.bind(tiles[0], ir::ThreadAxis::BlockX);
    s.bind(tiles[1], ir::ThreadAxis::BlockY);
    step = steps[0];
  }
};

/// The results are those of `before` in every order, and the checker proves that it cannot fail.
inline void expect_same_in_all_orders(const ir::LoopFunc& before, const Schedule& s) {
  expect_same(before, s);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const ir::RunOptions options{.arithmetic = ir::Arithmetic::Exact, .seed = seed};
    std::vector<ir::Array> one = random_args(before, 3, ir::Arithmetic::Exact);
    std::vector<ir::Array> two = one;
    ir::interpret(before, one, {}, {.arithmetic = ir::Arithmetic::Exact});
    ir::interpret(s.func(), two, {}, options);
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(ir::same_bits(one[i], two[i])) << "in order " << seed;
  }
  EXPECT_TRUE(ir::check_concurrency(s.func()).proved);
}

/// The same for rows(-1), at sizes around the number of slots.
inline void expect_same_rows(const Schedule& s) {
  for (const int64_t n : {0, 1, 2, 3, 4, 5, 9}) {
    std::vector<ir::Array> one = {ir::random_array(ir::Elem::F32, {n, 4}, 7, ir::Arithmetic::Exact),
                                  ir::random_array(ir::Elem::F32, {n}, 8, ir::Arithmetic::Exact)};
    std::vector<ir::Array> two = one;
    const ir::RunOptions exact{.arithmetic = ir::Arithmetic::Exact};
    ir::interpret(rows(-1), one, {n}, exact);
    ir::interpret(s.func(), two, {n}, exact);
    EXPECT_TRUE(ir::same_bits(one[1], two[1])) << "with n = " << n << "\n" << ir::print(s.func());
  }
}

}  // namespace tilewright::schedule
