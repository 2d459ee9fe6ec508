// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct FoldScales : testing::Test {
  Net g;
  std::mt19937 random{5};

  ValueId random_weights(const Ints& shape, double low = -1, double high = 1) {
    return g.constant(random_constant(random, shape, low, high));
  }
  ValueId batch_norm(ValueId x, int64_t channels) {
    return g("batch_norm", {x, random_weights({channels}), random_weights({channels}),
                            random_weights({channels}), random_weights({channels}, 0.5, 2)});
  }
  /// Folds, compares the numbers, and gives what is left.
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = fold_scales(fold_batch_norm(before, context), context);
    verify(graph);
    graph = remove_dead(std::move(graph), context);
    verify_types(graph);
    expect_equal(before, graph, 1e-5);
    return kernels(graph.main(), graph);
  }
};

TEST_F(FoldScales, PutsBatchNormIntoConvolutions) {
  const ValueId x = g.in("x", dims({1, 4, 5, 5}));
  const ValueId c =
      g("conv", {x, random_weights({6, 2, 3, 3}), random_weights({6})}, {{"group", int64_t{2}}});
  g.output(batch_norm(c, 6));
  EXPECT_EQ(after(), "conv -> %batch_norm\n");
}

TEST_F(FoldScales, LooksAtNoInputThatIsNotGiven) {
  const ValueId x = g.in("x", dims({3})), y = g.in("y", dims({3}));
  g.output(
      g("add", {y, g("clip", {x, kNoValue, g.constant(float_constant(ir::Elem::F32, {}, {2}))})}));
  EXPECT_EQ(after(), "clip -> %clip\nadd -> %add\n");
}

TEST_F(FoldScales, PutsBatchNormIntoTransposedConvolutions) {
  const ValueId x = g.in("x", dims({1, 4, 3, 3}));
  const ValueId c = g("conv_transpose", {x, random_weights({4, 3, 2, 2})},
                      {{"group", int64_t{2}}, {"strides", Ints{2, 2}}});
  g.output(batch_norm(c, 6));
  EXPECT_EQ(after(), "conv_transpose -> %batch_norm\n");
}

TEST_F(FoldScales, PutsScalesIntoProducts) {
  const ValueId x = g.in("x", dims({2, 3, 4}));
  const ValueId y = g("matmul", {x, random_weights({4, 5})});
  const ValueId s = g("add", {g("mul", {y, random_weights({5})}), random_weights({1, 1, 5})});
  g.output(g("sub", {g("div", {s, g.scalar(ir::Elem::F32, -4)}), random_weights({5})}));
  EXPECT_EQ(after(), "matmul -> %sub\n");
}

TEST_F(FoldScales, LeavesAFactorForAllChannelsThatWouldRoundTheWeights) {
  const ValueId x = g.in("x", dims({1, 4, 5, 5}));
  const ValueId c = g("conv", {x, random_weights({6, 4, 3, 3}), random_weights({6})});
  g.output(g("mul", {c, g.scalar(ir::Elem::F32, 0.3)}));
  EXPECT_EQ(after(), "conv -> %conv\nmul -> %mul\n");
}

TEST_F(FoldScales, PutsBatchNormIntoTheOnlyChannel) {
  const ValueId x = g.in("x", dims({1, 4, 5, 5}));
  g.output(batch_norm(g("conv", {x, random_weights({1, 4, 3, 3}), random_weights({1})}), 1));
  EXPECT_EQ(after(), "conv -> %batch_norm\n");
}

TEST_F(FoldScales, TakesFactorsOfNoChannels) {
  const ValueId y = g("matmul", {g.in("x", dims({3, 4})), random_weights({4, 0})});
  g.output(g("mul", {y, random_weights({0})}));
  EXPECT_EQ(after(), "matmul -> %mul\n");
}

TEST_F(FoldScales, MindsAlphaBetaAndTransposedWeights) {
  const ValueId x = g.in("x", dims({3, 4}));
  const ValueId y = g("matmul", {x, random_weights({5, 4}), random_weights({5})},
                      {{"trans_b", int64_t{1}}, {"alpha", 2.0}, {"beta", 3.0}});
  g.output(g("mul", {y, random_weights({5})}));
  EXPECT_EQ(after(), "matmul -> %mul\n");
}

TEST_F(FoldScales, LeavesAConvolutionThatOthersRead) {
  const ValueId x = g.in("x", dims({1, 4, 5, 5}));
  const ValueId c = g("conv", {x, random_weights({6, 4, 3, 3})});
  g.output(g("mul", {c, random_weights({6, 1, 1})}));
  g.output(g("relu", {c}));
  EXPECT_EQ(after(), "conv -> %conv\nmul -> %mul\nrelu -> %relu\n");
}

TEST_F(FoldScales, LeavesConstantsThatDifferInsideOfAChannel) {
  const ValueId x = g.in("x", dims({1, 4, 5, 5}));
  const ValueId c = g("conv", {x, random_weights({6, 4, 3, 3})});
  g.output(g("add", {c, random_weights({3})}));
  EXPECT_EQ(after(), "conv -> %conv\nadd -> %add\n");
}

TEST_F(FoldScales, WritesABatchNormByItselfAsScaleAndShift) {
  g.output(batch_norm(g.in("x", dims({2, 6, 3})), 6));
  EXPECT_EQ(after(), "mul -> %mul\nadd -> %batch_norm\n");
}

}  // namespace
}  // namespace tilewright::graph
