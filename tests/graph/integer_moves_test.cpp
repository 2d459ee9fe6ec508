// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/print.h"
#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;
using ir::Elem;

struct Steps {
  double scale;
  int64_t zero;
  Elem elem = Elem::U8;
};
constexpr Steps kFine = {0.011, 119}, kCoarse = {0.02, 100};

struct IntegerMoves : testing::Test {
  Net g;

  std::vector<ValueId> with(ValueId x, const Steps& s) {
    return {x, g.constant(float_constant(Elem::F32, {}, {s.scale})),
            g.constant(int_constant(s.elem, {}, {s.zero}))};
  }
  ValueId quantize(ValueId x, const Steps& s) {
    return g("quantize", with(x, s), {{"to", static_cast<int64_t>(s.elem)}});
  }
  ValueId real(ValueId q, const Steps& s) {
    return g("dequantize", with(q, s), {{"to", static_cast<int64_t>(Elem::F32)}});
  }
  ValueId quantised(ValueId x, const Steps& s) { return real(quantize(x, s), s); }
  ValueId pool(ValueId x) {
    return g("max_pool", {x},
             {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  }
  /// The numbers stay as they are, and the nodes that are left are these.
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = before;
    for (const auto pass : {integer_moves, remove_dead}) graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_equal(before, graph, 0);
    std::string out;
    for (const Node& n : graph.main().nodes)
      out += std::string(out.empty() ? "" : " ") + std::string(n.op->name);
    return out;
  }
};

TEST_F(IntegerMoves, WhatIsQuantisedByTheSameStepsIsWhatItWas) {
  const ValueId x = quantised(g.in("x", dims({5, 8})), kFine);
  g.output(quantize(x, kFine));
  EXPECT_EQ(after(), "quantize");
}

TEST_F(IntegerMoves, OtherStepsStay) {
  const ValueId x = g.in("x", dims({5, 8}));
  g.output(quantize(quantised(x, kFine), kCoarse));
  g.output(quantize(quantised(x, kFine), {kFine.scale, kFine.zero + 1}));
  g.output(quantize(quantised(x, kFine), {kFine.scale, kFine.zero, Elem::I8}));
  EXPECT_EQ(
      after(),
      "quantize dequantize quantize quantize dequantize quantize quantize dequantize quantize");
}

TEST_F(IntegerMoves, PoolsAndTransposesIntegers) {
  const ValueId x = quantised(g.in("x", dims({1, 2, 6, 6})), kFine);
  const ValueId y = g("transpose", {quantised(pool(x), kFine)}, {{"axes", Ints{0, 2, 3, 1}}});
  g.output(quantize(y, kFine));
  EXPECT_EQ(after(), "quantize max_pool transpose");
}

TEST_F(IntegerMoves, DequantisesAfterTheMove) {
  const ValueId x = quantised(g.in("x", dims({4, 6})), kFine);
  g.output(g("relu", {g("reshape", {x, g.ints({2, 12})})}));
  EXPECT_EQ(after(), "quantize reshape dequantize relu");
}

TEST_F(IntegerMoves, ANegativeScaleTurnsTheOrderRound) {
  const Steps turned = {-0.01, 3};
  const ValueId x = quantised(g.in("x", dims({1, 2, 6, 6})), turned);
  g.output(quantize(pool(x), turned));
  EXPECT_EQ(after(), "quantize dequantize max_pool quantize");
}

TEST_F(IntegerMoves, JoinsBranchesInTheStepsOfTheWhole) {
  const ValueId x = g.in("x", dims({1, 2, 6, 6}));
  const ValueId a = quantised(x, kFine), b = quantised(g("neg", {x}), kCoarse), c = g("relu", {x});
  g.output(quantize(g("concat", {a, b, c}, {{"axis", int64_t{1}}}), kFine));
  EXPECT_EQ(after(), "quantize neg quantize dequantize relu quantize quantize concat");
}

TEST_F(IntegerMoves, AWholeThatOthersReadStays) {
  const ValueId x = g.in("x", dims({1, 2, 6, 6}));
  const ValueId whole = g("concat", {quantised(x, kFine), g("relu", {x})}, {{"axis", int64_t{1}}});
  g.output(quantize(whole, kFine));
  g.output(whole);
  EXPECT_EQ(after(), "quantize dequantize relu concat quantize");
}

TEST_F(IntegerMoves, ConstantsAreLeftToBeFolded) {
  const ValueId w =
      real(g.constant(int_constant(Elem::I8, {2, 3}, {1, 2, 3, 4, 5, 6})), {0.5, 1, Elem::I8});
  g.output(g("add", {g("transpose", {w}, {{"axes", Ints{1, 0}}}), g.in("x", dims({3, 2}))}));
  EXPECT_EQ(after(), "dequantize transpose add");
}

TEST_F(IntegerMoves, PicksRowsOfATableOfBytes) {
  const ValueId table =
      real(g.constant(int_constant(Elem::I8, {2, 3}, {1, 2, 3, 4, 5, 6})), {0.5, 1, Elem::I8});
  const ValueId x = g.in("x", dims({4}));
  const ValueId rows =
      g("cast", {g("greater", {x, g.constant(float_constant(Elem::F32, {}, {0}))})},
        {{"to", static_cast<int64_t>(Elem::I64)}});
  g.output(g("gather", {table, rows}, {{"axis", int64_t{0}}}));
  EXPECT_EQ(after(), "greater cast gather dequantize");
}

}  // namespace
}  // namespace tilewright::graph
