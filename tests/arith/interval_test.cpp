// SPDX-License-Identifier: Apache-2.0
#include "arith/interval.h"

#include <gtest/gtest.h>
#include <random>

#include "ir/scalar.h"

namespace tilewright::arith {
namespace {

using ir::BinaryOp;

constexpr int64_t kMin = Interval::kMin, kMax = Interval::kMax;

TEST(Interval, SaturatesToUnbounded) {
  EXPECT_EQ(apply(BinaryOp::Add, {0, kMax}, {1, 1}), (Interval{1, kMax}));
  EXPECT_EQ(apply(BinaryOp::Add, {kMax - 1, kMax - 1}, {5, 5}).hi, kMax);
  EXPECT_EQ(apply(BinaryOp::Sub, {kMin, 0}, {1, 1}), (Interval{kMin, -1}));
  EXPECT_EQ(apply(BinaryOp::Mul, {kMin, 7}, {-1, -1}), (Interval{-7, kMax}));
  EXPECT_EQ(apply(BinaryOp::Mul, {kMin, kMax}, {0, 0}), Interval::point(0));
  EXPECT_EQ(apply(ir::UnaryOp::Neg, {kMin, 5}), (Interval{-5, kMax}));
  EXPECT_EQ(apply(ir::UnaryOp::Abs, {kMin, 5}), (Interval{0, kMax}));
}

TEST(Interval, DivisionIsFloorAndTotal) {
  EXPECT_EQ(apply(BinaryOp::Div, {-7, 7}, {2, 2}), (Interval{-4, 3}));
  EXPECT_EQ(apply(BinaryOp::Div, {1, 7}, {0, 0}), Interval::point(0));
  EXPECT_EQ(apply(BinaryOp::Div, {kMin, kMax}, {4, 4}), Interval::everything());
  EXPECT_EQ(apply(BinaryOp::Div, {0, kMax}, {4, 8}), (Interval{0, kMax}));
  EXPECT_EQ(apply(BinaryOp::Div, {-5, 5}, {1, kMax}), (Interval{-5, 5}));
  EXPECT_EQ(apply(BinaryOp::Mod, {-3, 20}, {8, 8}), (Interval{0, 7}));
  EXPECT_EQ(apply(BinaryOp::Mod, {16, 20}, {8, 8}), (Interval{0, 4}));
  EXPECT_EQ(apply(BinaryOp::Mod, {0, 5}, {8, 100}), (Interval{0, 5}));
  EXPECT_EQ(apply(BinaryOp::Mod, {-9, 9}, {-4, -2}), (Interval{-3, 0}));
}

TEST(Interval, Comparisons) {
  EXPECT_EQ(apply(BinaryOp::Lt, {0, 3}, {4, 9}), Interval::point(1));
  EXPECT_EQ(apply(BinaryOp::Lt, {4, 9}, {0, 4}), Interval::point(0));
  EXPECT_EQ(apply(BinaryOp::Lt, {0, 4}, {4, 9}), (Interval{0, 1}));
  EXPECT_EQ(apply(BinaryOp::Le, {kMin, kMax}, {kMin, kMax}), (Interval{0, 1}));
  EXPECT_EQ(apply(BinaryOp::Ne, {0, 3}, {4, 9}), Interval::point(1));
}

TEST(Interval, HoldsEveryValueOfTheOperators) {
  std::mt19937_64 engine(1);
  const auto number = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(engine);
  };
  for (int round = 0; round < 4000; ++round) {
    const auto random_interval = [&] {
      const int64_t lo = number(-9, 9);
      return Interval{lo, lo + number(0, 7)};
    };
    const auto op = static_cast<BinaryOp>(number(0, ir::kBinaryOpCount - 1));
    const bool bools = op == BinaryOp::And || op == BinaryOp::Or;
    const Interval a = bools ? Interval{0, 1} : random_interval();
    const Interval b = bools ? Interval{0, 1} : random_interval();
    const Interval out = apply(op, a, b);
    for (int64_t x = a.lo; x <= a.hi; ++x)
      for (int64_t y = b.lo; y <= b.hi; ++y)
        ASSERT_TRUE(out.contains(ir::int_binary(op, ir::Elem::I64, x, y)))
            << ir::info(op).text << " of " << x << " and " << y << " not in " << out.lo << " … "
            << out.hi;
  }
  for (const ir::UnaryOp op : {ir::UnaryOp::Neg, ir::UnaryOp::BitNot, ir::UnaryOp::Abs})
    for (int64_t lo = -6; lo <= 6; ++lo)
      for (int64_t hi = lo; hi <= 6; ++hi)
        for (int64_t x = lo; x <= hi; ++x)
          ASSERT_TRUE(apply(op, Interval{lo, hi}).contains(ir::int_unary(op, ir::Elem::I64, x)));
}

TEST(Interval, RangesOfTypes) {
  EXPECT_EQ(range_of(ir::Elem::I8), (Interval{-128, 127}));
  EXPECT_EQ(range_of(ir::Elem::U4), (Interval{0, 15}));
  EXPECT_EQ(range_of(ir::Elem::U32), (Interval{0, 0xFFFFFFFFll}));
  EXPECT_EQ(range_of(ir::Elem::Bool), (Interval{0, 1}));
  EXPECT_EQ(range_of(ir::Elem::I64), Interval::everything());
}

}  // namespace
}  // namespace tilewright::arith
