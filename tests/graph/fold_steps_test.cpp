// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/print.h"
#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;
using ir::Elem;

struct FoldSteps : testing::Test {
  Net g;

  ValueId numbers(const Ints& shape, const std::vector<double>& values) {
    return g.constant(float_constant(Elem::F32, shape, values));
  }
  ValueId quantize(ValueId x, double scale) {
    return g("quantize", {x, numbers({}, {scale}), g.constant(int_constant(Elem::U8, {}, {117}))},
             {{"to", static_cast<int64_t>(Elem::U8)}});
  }
  ValueId dequantize(ValueId q, double scale) {
    return g("dequantize", {q, numbers({}, {scale}), g.constant(int_constant(Elem::U8, {}, {117}))},
             {{"to", static_cast<int64_t>(Elem::F32)}});
  }
  /// The nodes that are left. What is quantised differs by a step at most.
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = before;
    for (const auto pass : {fold_steps, remove_dead}) graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_within_a_step(before, graph);
    std::string out;
    for (const Node& n : graph.main().nodes) {
      out += (out.empty() ? "" : " ") + std::string(n.op->name);
      if (n.op->name == "quantize") {
        EXPECT_EQ(uniform(*graph.value(n.inputs[1]).constant), 1);
      }
    }
    return out;
  }
  static void expect_within_a_step(const Graph& before, const Graph& after) {
    std::mt19937 random(3);
    std::vector<Constant> inputs;
    for (const ValueId id : before.main().inputs)
      inputs.push_back(
          random_constant(random, *const_dims(before.type(id).tensor()->shape), -100, 100));
    const std::vector<Constant> want = run_graph(before, inputs), got = run_graph(after, inputs);
    ASSERT_EQ(want.size(), got.size());
    int other = 0, all = 0;
    for (size_t i = 0; i < want.size(); ++i)
      for (int64_t k = 0; k < want[i]->count(); ++k, ++all) {
        ASSERT_LE(std::abs(number_at(*want[i], k) - number_at(*got[i], k)), 1);
        other += number_at(*want[i], k) != number_at(*got[i], k);
      }
    EXPECT_LE(other, all / 50);
  }
};

TEST_F(FoldSteps, GoesIntoScaleAndBias) {
  const ValueId sums =
      g("cast", {g.in("x", dims({2, 3, 4}))}, {{"to", static_cast<int64_t>(Elem::I32)}});
  const ValueId f = g("cast", {sums}, {{"to", static_cast<int64_t>(Elem::F32)}});
  const ValueId y =
      g("add", {g("mul", {f, numbers({3, 1}, {0.1, 0.2, 0.3})}), numbers({3, 1}, {1, 2, 3})});
  g.output(quantize(g("relu", {y}), 0.17));
  EXPECT_EQ(after(), "cast cast mul add relu quantize");
}

TEST_F(FoldSteps, GoesIntoWhatIsAdded) {
  const ValueId a = quantize(g.in("a", dims({4, 5})), 1), b = quantize(g.in("b", dims({4, 5})), 1);
  for (const ValueId q : {a, b}) g.output(q);
  g.output(quantize(g("add", {dequantize(a, 0.3), dequantize(b, 0.7)}), 0.43));
  EXPECT_EQ(after(), "quantize quantize dequantize dequantize add quantize");
}

TEST_F(FoldSteps, WhatIsOnlyDequantisedStaysAFloat) {
  const auto steps = [&](ValueId x) -> std::vector<ValueId> {
    return {x, numbers({}, {0.3}), g.constant(int_constant(Elem::I8, {}, {-100}))};
  };
  const ValueId x = g.in("x", dims({4, 5}));
  const ValueId q = g("quantize", steps(x), {{"to", static_cast<int64_t>(Elem::I8)}});
  const ValueId y = g("dequantize", steps(q), {{"to", static_cast<int64_t>(Elem::F32)}});
  g.output(quantize(g("add", {y, numbers({5}, {1, 2, 3, 4, 5})}), 0.437));
  EXPECT_EQ(after(), "mul round clip mul add quantize");
}

TEST_F(FoldSteps, WhatWaitsForSomethingLaterStaysAnInteger) {
  const ValueId a = quantize(g.in("a", dims({4, 5})), 0.3);
  const ValueId b = quantize(g("neg", {g.in("b", dims({4, 5}))}), 0.7);
  g.output(g("add", {dequantize(b, 0.7), dequantize(a, 0.3)}));
  EXPECT_EQ(after(), "mul quantize neg mul round clip mul dequantize add");
}

TEST_F(FoldSteps, PoolsOfIntegersStayExact) {
  const ValueId q = quantize(g.in("x", dims({1, 2, 4, 4})), 0.3);
  g.output(q);
  const ValueId y = g("average_pool", {dequantize(q, 0.3)}, {{"kernel", Ints{2, 2}}});
  const ValueId pooled = quantize(y, 0.3);
  g.output(pooled);
  const Graph graph = [&] {
    PassContext context = test_context();
    return remove_dead(fold_steps(g.take(), context), context);
  }();
  std::mt19937 random(1);
  const Constant in = random_constant(random, {1, 2, 4, 4}, -30, 30);
  const std::vector<Constant> out = run_graph(graph, {in});
  // The mean of four steps is rounded to the even one where it lies in the middle.
  for (int64_t i = 0, k = 0; i < 2; ++i)
    for (int64_t y0 = 0; y0 < 3; ++y0)
      for (int64_t x0 = 0; x0 < 3; ++x0, ++k) {
        double sum = 0;
        for (const int64_t at : {0, 1, 4, 5})
          sum += number_at(*out[0], i * 16 + y0 * 4 + x0 + at) - 117;
        EXPECT_EQ(number_at(*out[1], k), std::nearbyint(sum / 4) + 117) << "at " << k;
      }
}

TEST_F(FoldSteps, OtherValuesAreMultiplied) {
  const ValueId a = g.in("a", dims({4, 5})), b = g.in("b", dims({4, 5}));
  g.output(quantize(g("sub", {g("neg", {a}), b}), 0.43));
  EXPECT_EQ(after(), "neg sub mul quantize");
}

TEST_F(FoldSteps, WhatOthersReadStays) {
  const ValueId x = g("mul", {g.in("x", dims({4, 5})), numbers({}, {0.5})});
  g.output(quantize(x, 0.43));
  g.output(x);
  EXPECT_EQ(after(), "mul mul quantize");
}

TEST_F(FoldSteps, RequantisesByFactors) {
  const ValueId sums =
      g("cast", {g.in("x", dims({2, 3}))}, {{"to", static_cast<int64_t>(Elem::I32)}});
  const ValueId zero = g.constant(int_constant(Elem::U8, {}, {3}));
  for (const int64_t axis : {0, -1})
    g.output(g("requantize",
               {sums, numbers({}, {0.3}), axis ? numbers({3}, {1, 2, 3}) : numbers({2}, {1, 2}),
                numbers({}, {0.7}), zero},
               {{"to", static_cast<int64_t>(Elem::U8)}, {"b_axis", axis}}));
  EXPECT_EQ(after(), "cast cast mul quantize cast mul quantize");
}

}  // namespace
}  // namespace tilewright::graph
