// SPDX-License-Identifier: Apache-2.0
#include "arith/known.h"
#include "arith/random_program.h"

namespace tilewright::arith {
namespace {

using ir::Expr;

TEST(SimplifyVector, RampsAndBroadcastsFold) {
  Known k;
  k.symbol("n", 1, 512).loop("i", "0", "8").loop("j", "0", "8").free("f", ir::kF32);
  EXPECT_EQ(k.simple("broadcast(i, 4) + broadcast(j, 4)"), "broadcast(i + j, 4)");
  EXPECT_EQ(k.simple("ramp(i, 1, 4) + broadcast(j, 4)"), "ramp(i + j, 1, 4)");
  EXPECT_EQ(k.simple("ramp(i, 1, 4) * broadcast(3, 4)"), "ramp(i * 3, 3, 4)");
  EXPECT_EQ(k.simple("ramp(i, 1, 4) + ramp(j, 2, 4)"), "ramp(i + j, 3, 4)");
  EXPECT_EQ(k.simple("ramp(i, 1, 4) - ramp(0, 1, 4)"), "broadcast(i, 4)");
  EXPECT_EQ(k.simple("ramp(i, 1, 4) * broadcast(n, 4)"), "ramp(i * n, n, 4)");
  EXPECT_EQ(k.simple("ramp(i, 0, 4)"), "broadcast(i, 4)");
  EXPECT_EQ(k.simple("broadcast(f, 4) * broadcast(1.0, 4)"), "broadcast(f, 4)");
}

TEST(SimplifyVector, DivisionsOfRamps) {
  Known k;
  k.loop("x", "0", "8").loop("y", "0", "4");
  EXPECT_EQ(k.simple("ramp(16*x, 1, 16) / broadcast(16, 16)"), "broadcast(x, 16)");
  EXPECT_EQ(k.simple("ramp(16*x, 1, 16) % broadcast(16, 16)"), "ramp(0, 1, 16)");
  EXPECT_EQ(k.simple("ramp(16*x + 4*y, 1, 4) / broadcast(16, 4)"), "broadcast(x, 4)");
  EXPECT_EQ(k.simple("ramp(16*x + 4*y, 1, 4) % broadcast(16, 4)"), "ramp(y * 4, 1, 4)");
  EXPECT_EQ(k.simple("ramp(8*x, 8, 4) / broadcast(8, 4)"), "ramp(x, 1, 4)");
  EXPECT_EQ(k.simple("ramp(x, 1, 16) % broadcast(16, 16)"), "ramp(x, 1, 16) % broadcast(16, 16)");
}

TEST(SimplifyVector, MasksThatHoldForEveryLane) {
  Known k;
  k.symbol("n", 16, 512, 16).loop("i", "0", "n/16").free("m");
  k.buffer("A", ir::Elem::F32, {k.expr("n")});
  EXPECT_EQ(k.simple("ramp(i*16, 1, 16) < broadcast(n, 16)"), "broadcast(true, 16)");
  EXPECT_TRUE(k.proves("ramp(i*16, 1, 16) < broadcast(n, 16)"));
  EXPECT_FALSE(k.proves("ramp(i*16 + 1, 1, 16) < broadcast(n, 16)"));
  EXPECT_EQ(k.simple("A[ramp(i*16, 1, 16)] mask (ramp(i*16, 1, 16) < broadcast(n, 16))"),
            "A[ramp(i * 16, 1, 16)]");
  EXPECT_EQ(k.simple("A[ramp(i, 1, 4)] mask (broadcast(false, 4))"), "broadcast(0.0, 4)");
  EXPECT_EQ(k.simple("A[broadcast(i, 4)]"), "broadcast(A[i], 4)");
}

TEST(SimplifyVector, BasesThatMayWrapStillFold) {
  Known k;
  k.free("x").free("y");
  EXPECT_EQ(k.simple("ramp(x, 1, 4) + broadcast(y, 4)"), "ramp(x + y, 1, 4)");
  EXPECT_EQ(k.simple("ramp(x*4, 1, 4) / broadcast(4, 4)"), "ramp(x * 4, 1, 4) / broadcast(4, 4)");
}

/// A random vector expression over scalars of the facts, with loads in between.
Expr random_vector(RandomFacts& r, const ir::Buffer& memory, int depth) {
  constexpr int kLanes = 4;
  const auto part = [&] { return random_vector(r, memory, depth - 1); };
  if (depth == 0) {
    if (r.number(0, 1)) return ir::make<ir::Broadcast>({}, r.index(1), kLanes);
    return ir::make<ir::Ramp>({}, r.index(1), r.number(0, 2) ? Expr(r.number(-2, 4)) : r.index(0),
                              kLanes);
  }
  const auto constant = [&] { return ir::broadcast(Expr(r.number(1, 8)), kLanes); };
  switch (r.number(0, 8)) {
    case 0: return part() + part();
    case 1: return part() - part();
    case 2: return part() * part();
    case 3: return part() / constant();
    case 4: return part() % constant();
    case 5: return ir::min(part(), part());
    case 6: return ir::select(part() < part(), part(), part());
    case 7: return ir::load(memory, {part()});
    default: return ir::make<ir::Load>({}, memory, std::vector<Expr>{part()}, part() <= part());
  }
}

TEST(SimplifyVector, KeepsTheValueOfRandomVectors) {
  const ir::Buffer memory = ir::make_buffer("M", ir::Elem::I64, {100});
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomFacts r(seed);
    const Expr e = random_vector(r, memory, static_cast<int>(r.number(1, 3)));
    const Expr simple = r.context.simplify(e);
    ASSERT_EQ(simple.type(), e.type());
    int count = 0;
    for (const Values& v : r.valuations) {
      if (++count > 60) break;
      ASSERT_TRUE(same(evaluate(simple, v), evaluate(e, v)))
          << "seed " << seed << ": " << r.description << "\n  " << ir::print(e) << "\n  "
          << ir::print(simple);
    }
  }
}

}  // namespace
}  // namespace tilewright::arith
