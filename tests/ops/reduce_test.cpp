// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(Reduce, TakesAxesThatAreKnownOnlyAtRunTime) {
  const auto x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](const Ints& axes, int64_t keepdims) {
    return run_node({.op = "ReduceSum", .attributes = {{"keepdims", keepdims}}, .symbolic = false},
                    {x, ints({std::ssize(axes)}, axes)});
  };
  EXPECT_EQ(numbers(run({-1}, 1)[0]), (Numbers{6, 15}));
  EXPECT_EQ(run({-1}, 1)[0]->shape, (Ints{2, 1}));
  EXPECT_EQ(numbers(run({0}, 0)[0]), (Numbers{5, 7, 9}));
  EXPECT_EQ(run({0}, 0)[0]->shape, (Ints{3}));
  EXPECT_EQ(numbers(run({1, 0}, 0)[0]), (Numbers{21}));
}

TEST(Reduce, ChecksRunTimeAxes) {
  const Diagnostic d =
      diagnostic_of([] { run_node({.op = "ReduceSum"}, {floats({1}, {1}), ints({1}, {1})}); });
  EXPECT_EQ(d.code, "driver.run.check");
}

TEST(Reduce, OverNothingGivesTheIdentity) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto run = [](const char* op) {
    return numbers(
        run_node({.op = op, .opset = 13, .attributes = {{"axes", Ints{1}}}, .symbolic = true},
                 {floats({1, 0}, {})})[0])[0];
  };
  EXPECT_EQ(run("ReduceMax"), -inf);
  EXPECT_EQ(run("ReduceMin"), inf);
  EXPECT_EQ(run("ReduceProd"), 1);
  EXPECT_EQ(run("ReduceLogSumExp"), -inf);
  EXPECT_TRUE(std::isnan(run("ReduceMean")));
}

TEST(Reduce, OfAShapeIsAFormula) {
  graph::Builder g;
  graph::TensorType type;
  type.shape = {g.symbol("n"), g.symbol("m")};
  const graph::ValueId shape = g.call(op("shape"), ShapeAttrs{}, {g.input("x", type)});
  const graph::ValueId product = g.call(op("reduce_prod"), ReduceAttrs{}, {shape});
  ASSERT_TRUE(g.value(product).elements.has_value());
  EXPECT_TRUE(graph::same(g.value(product).elements->at(0), type.shape[0] * type.shape[1]));
}

TEST(Reduce, LogSumExpOfLargeValuesStaysFinite) {
  const auto y = run_node({.op = "ReduceLogSumExp"}, {floats({2}, {1000, 1000})});
  EXPECT_NEAR(numbers(y[0])[0], 1000 + std::log(2.0), 1e-3);
}

TEST(Reduce, NoAxesMeansAllOrNone) {
  const auto x = floats({2}, {1, 2});
  const auto run = [&](int64_t noop) {
    return numbers(
        run_node({.op = "ReduceSum", .attributes = {{"noop_with_empty_axes", noop}}}, {x})[0]);
  };
  EXPECT_EQ(run(0), (Numbers{3}));
  EXPECT_EQ(run(1), (Numbers{1, 2}));
}

TEST(Reduce, MeansOfIntegersGoTowardsZero) {
  const auto y = run_node({.op = "ReduceMean"}, {ints({2}, {-3, -4}, ir::Elem::I32)});
  EXPECT_EQ(numbers(y[0]), (Numbers{-3}));
}

TEST(Reduce, HalfPrecisionIsSummedInFull) {
  std::vector<double> ones(4096, 1.0);
  ones[0] = 2048;
  const auto x = graph::float_constant(ir::Elem::F16, {4096}, ones);
  EXPECT_EQ(numbers(run_node({.op = "ReduceSum"}, {x})[0]), (Numbers{6144}));
}

TEST(ArgMax, TakesTheFirstOrTheLastOfEqualOnes) {
  const auto run = [](int64_t last) {
    return numbers(run_node({.op = "ArgMax",
                             .attributes = {{"axis", int64_t{-1}}, {"select_last_index", last}},
                             .symbolic = true},
                            {floats({1, 4}, {1, 7, 7, 0})})[0]);
  };
  EXPECT_EQ(run(0), (Numbers{1}));
  EXPECT_EQ(run(1), (Numbers{2}));
}

TEST(ArgMax, FindsExtremesInLongRows) {
  // Equal ones on both sides of what is searched at once; the last element; one that is no number.
  for (const int64_t length : {20, 2000, 66000})
    for (const int64_t place : {int64_t{0}, int64_t{17}, length - 1}) {
      std::vector<double> values(static_cast<size_t>(length), -1.0);
      values[static_cast<size_t>(place)] = 5;
      values.back() = 5;
      const auto found = [&](std::string_view op, int64_t last) {
        return numbers(run_node({.op = std::string(op),
                                 .attributes = {{"axis", int64_t{1}}, {"select_last_index", last}}},
                                {floats({1, length}, values)})[0])[0];
      };
      EXPECT_EQ(found("ArgMax", 0), place) << length;
      EXPECT_EQ(found("ArgMax", 1), length - 1) << length;
      values[static_cast<size_t>(place)] = std::nan("");
      EXPECT_EQ(found("ArgMin", 0), place) << length;
      EXPECT_EQ(found("ArgMax", 1), place) << length;
    }
}

TEST(CumSum, GoesEitherWayAlongARunTimeAxis) {
  const auto run = [](int64_t axis, int64_t exclusive, int64_t reverse) {
    return numbers(
        run_node({.op = "CumSum", .attributes = {{"exclusive", exclusive}, {"reverse", reverse}}},
                 {floats({2, 3}, {1, 2, 3, 4, 5, 6}), ints({}, {axis})})[0]);
  };
  EXPECT_EQ(run(1, 0, 0), (Numbers{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run(-2, 0, 0), (Numbers{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run(1, 1, 1), (Numbers{5, 3, 0, 11, 6, 0}));
}

}  // namespace
}  // namespace tilewright::ops
