// SPDX-License-Identifier: Apache-2.0
// Everything a context says, against all values that its facts allow.
#include <gtest/gtest.h>

#include "arith/random_program.h"
#include "ir/print.h"
#include "ir/rewrite.h"

namespace tilewright::arith {
namespace {

using ir::Expr;

TEST(Random, SimplifyKeepsTheValue) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomFacts r(seed);
    for (int i = 0; i < 4; ++i) {
      const Expr e = i == 3 ? r.condition(3) : r.index(i + 2);
      const Expr simple = r.context.simplify(e);
      for (const Values& v : r.valuations)
        ASSERT_EQ(evaluate_int(simple, v), evaluate_int(e, v))
            << "seed " << seed << ": " << r.description << "\n  " << ir::print(e) << "\n  "
            << ir::print(simple);
    }
  }
}

size_t size_of(const Expr& e) {
  size_t n = 1;
  ir::for_each_child(e, [&](const Expr& c) { n += size_of(c); });
  return n;
}

TEST(Random, SimplifyingTwiceChangesNothing) {
  int twice = 0;
  size_t before = 0, after = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomFacts r(seed);
    const Expr e = seed % 4 == 0 ? r.condition(3) : r.index(4);
    const Expr once = r.context.simplify(e), again = r.context.simplify(once);
    twice += once != again;
    before += size_of(e);
    after += size_of(once);
  }
  EXPECT_EQ(twice, 0);
  EXPECT_LT(after * 3, before);  // most of a random expression is redundant
}

TEST(Random, BoundsAndDivisorHold) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomFacts r(seed);
    for (int i = 0; i < 3; ++i) {
      const Expr e = r.index(3);
      const Interval bounds = r.context.bounds(e);
      const int64_t divisor = r.context.divisor(e);
      for (const Values& v : r.valuations) {
        const int64_t x = evaluate_int(e, v);
        ASSERT_TRUE(bounds.contains(x))
            << "seed " << seed << ": " << r.description << "\n  " << ir::print(e) << " is " << x;
        ASSERT_TRUE(divisor == 0 ? x == 0 : x % divisor == 0)
            << "seed " << seed << ": " << r.description << "\n  " << ir::print(e) << " is " << x
            << ", divisor " << divisor;
      }
    }
  }
}

TEST(Random, WhatIsProvedHolds) {
  int holds = 0, proved = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomFacts r(seed);
    if (r.valuations.empty()) continue;
    for (int i = 0; i < 5; ++i) {
      const Expr c = i < 3 ? r.affine() <= r.affine() : r.condition(2);
      const bool can = r.context.can_prove(c);
      bool always = true;
      for (const Values& v : r.valuations) {
        const bool now = evaluate_int(c, v) != 0;
        always = always && now;
        ASSERT_TRUE(!can || now) << "seed " << seed << ": " << r.description << "\n  "
                                 << ir::print(c);
      }
      holds += always;
      proved += can;
    }
  }
  // What is left needs products of unknowns, or case distinctions by value.
  EXPECT_GT(proved * 100, holds * 97) << proved << " of " << holds;
}

TEST(Random, EliminatedBoundsHold) {
  int known = 0, all = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomFacts r(seed);
    std::vector<ir::Var> gone;
    for (const ir::Var& v : r.vars)
      if (r.number(0, 1)) gone.push_back(v);
    const Expr e = r.number(0, 1) ? r.affine() : r.index(2);
    const Context::Bounds b = r.context.eliminate(e, gone);
    for (const ir::Var& v : gone) {
      ASSERT_FALSE(b.lo && ir::uses(b.lo, v)) << ir::print(b.lo);
      ASSERT_FALSE(b.hi && ir::uses(b.hi, v)) << ir::print(b.hi);
    }
    all += 2;
    known += (b.lo ? 1 : 0) + (b.hi ? 1 : 0);
    for (const Values& v : r.valuations) {
      const int64_t x = evaluate_int(e, v);
      const auto at = [&](const char* side, const Expr& bound) {
        return std::string("seed ") + std::to_string(seed) + ": " + r.description + "\n  " +
               ir::print(e) + " is " + std::to_string(x) + ", " + side + " " + ir::print(bound);
      };
      if (b.lo) {
        ASSERT_LE(evaluate_int(b.lo, v), x) << at("lo", b.lo);
      }
      if (b.hi) {
        ASSERT_GE(evaluate_int(b.hi, v), x) << at("hi", b.hi);
      }
    }
  }
  EXPECT_GT(known * 100, all * 96) << known << " of " << all;
}

// Variables without bounds take extreme values, and sums wrap.
TEST(Random, SimplifyIsSoundWhereSumsWrap) {
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  const int64_t extreme[] = {
      kMin, kMin + 1, kMin / 2, -(int64_t{1} << 32), -7,       -1,           0,        1,
      2,    5,        16,       int64_t{1} << 32,    kMax / 2, kMax / 3 + 1, kMax - 1, kMax};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    RandomFacts r(seed + 1000000);
    r.context = Context();
    const bool half = r.number(0, 1);
    for (const ir::Var& v : r.vars)
      if (half) r.context.bind(v, Interval{0, kMax});
    const Expr e = r.number(0, 3) == 0 ? r.condition(3) : r.index(4);
    const Expr simple = r.context.simplify(e);
    const Interval bounds = e.type() == ir::kIndex ? r.context.bounds(e) : Interval();
    for (int i = 0; i < 200; ++i) {
      Values v;
      for (const ir::Var& var : r.vars) {
        const int64_t x = extreme[r.number(0, 15)];
        v[var.get()] = Value::of(half && x < 0 ? ~x : x);
      }
      const int64_t x = evaluate_int(e, v);
      ASSERT_EQ(evaluate_int(simple, v), x)
          << "seed " << seed << ": " << ir::print(e) << "\n  " << ir::print(simple);
      ASSERT_TRUE(bounds.contains(x)) << "seed " << seed << ": " << ir::print(e);
    }
  }
}

}  // namespace
}  // namespace tilewright::arith
