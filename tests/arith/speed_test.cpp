// SPDX-License-Identifier: Apache-2.0
// The simplifier runs after every step, so its speed is part of its contract. Processor time is
// measured, with room for slow machines and sanitizers; the figures aimed at stand beside.
#include <ctime>
#include <functional>

#include "arith/known.h"
#include "arith/random_program.h"
#include "ir/rewrite.h"

namespace tilewright::arith {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr double kSlow = 50;  // sanitizers
#else
constexpr double kSlow = 1;
#endif

double milliseconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(Speed, ExpressionSoup) {
  double total = 0;
  int nodes = 0;
  constexpr int kRounds = 200;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    RandomFacts r(seed);
    const ir::Expr e = r.index(7);
    ir::walk(
        e, [&](const ir::Binary&) { ++nodes; }, [&](const ir::VarNode&) { ++nodes; },
        [&](const ir::IntImm&) { ++nodes; }, [&](const ir::Select&) { ++nodes; });
    total += milliseconds_of([&] { r.context.simplify(e); });
  }
  const double per_200 = total / nodes * 200;
  std::cout << per_200 << " ms for 200 nodes\n";  // aim: 1 ms
  EXPECT_LT(per_200, 10 * kSlow);
}

TEST(Speed, WholeKernel) {
  // A blocked matrix product with tails, as it looks after a dozen steps, many times over.
  std::string body;
  for (int i = 0; i < 40; ++i)
    body +=
        "for mo in 0..(m + 15)/16 { for no in 0..(n + 31)/32 { for ko in 0..(k + 7)/8 {\n"
        "for mi in 0..16 { for ki in 0..8 { vectorized for ni in 0..32 {\n"
        "if mo*16 + mi < m && no*32 + ni < n && ko*8 + ki < k {\n"
        "C[((mo*16 + mi)*n + (no*32 + ni))/n, ((mo*16 + mi)*n + (no*32 + ni))%n] = "
        "C[mo*16 + mi, no*32 + ni] + A[mo*16 + mi, ko*8 + ki]*B[ko*8 + ki, no*32 + ni]\n"
        "} } } } } } }\n";
  Known k;
  k.symbol("m", 1, 4096).symbol("n", 1, 4096).symbol("k", 1, 4096);
  k.buffer("A", ir::Elem::F32, {k.expr("m"), k.expr("k")});
  k.buffer("B", ir::Elem::F32, {k.expr("k"), k.expr("n")});
  k.buffer("C", ir::Elem::F32, {k.expr("m"), k.expr("n")});
  const ir::Stmt s = ir::parse_stmt(body, k.environment);
  ir::Stmt simple;
  const double ms = milliseconds_of([&] { simple = simplify(s, k.context); });
  std::cout << ms << " ms for 40 kernels\n";  // aim: 20 ms
  EXPECT_LT(ms, 200 * kSlow);
  EXPECT_EQ(ir::print(simple).find(" / n"), std::string::npos);
  EXPECT_EQ(simplify(simple, k.context), simple);
}

}  // namespace
}  // namespace tilewright::arith
