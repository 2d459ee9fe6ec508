// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct FoldPads : testing::Test {
  Net g;
  std::mt19937 random{7};
  ValueId x = g.in("x", dims({2, 3, 5, 6}));

  ValueId number(double value) { return g.constant(float_constant(ir::Elem::F32, {}, {value})); }
  ValueId pad(ValueId of, const Ints& pads, double fill = 0) {
    return g("pad", {of, g.ints(pads), number(fill)});
  }
  ValueId conv(ValueId of, const AttrList& attrs = {}) {
    return g("conv", {of, g.constant(random_constant(random, {4, 3, 3, 3}))}, attrs);
  }
  /// Folds, compares the numbers, and gives what is left.
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = fold_pads(before, context);
    verify(graph);
    graph = remove_dead(std::move(graph), context);
    verify_types(graph);
    expect_equal(before, graph, 0);
    return kernels(graph.main(), graph);
  }
};

TEST_F(FoldPads, ConvolutionsPadByThemselves) {
  g.output(conv(pad(x, {0, 0, 1, 2, 0, 0, 0, 3}),
                {{"strides", Ints{2, 1}}, {"pads", Ints{0, 1, 1, 0}}}));
  EXPECT_EQ(after(), "conv -> %conv\n");
}

TEST_F(FoldPads, ThoseWithoutPadsOfTheirOwnToo) {
  g.output(conv(pad(x, {0, 0, 1, 1, 0, 0, 1, 1}), {{"auto_pad", int64_t{3}}}));
  EXPECT_EQ(after(), "conv -> %conv\n");
}

TEST_F(FoldPads, AxesMayBeListed) {
  const ValueId axes = g.ints({-1, 2});
  g.output(conv(g("pad", {x, g.ints({1, 2, 3, 0}), kNoValue, axes})));
  EXPECT_EQ(after(), "conv -> %conv\n");
}

TEST_F(FoldPads, OnlyZerosAroundTheWindows) {
  g.output(conv(pad(x, {0, 0, 1, 1, 0, 0, 1, 1}, 0.5)));
  g.output(conv(pad(x, {0, 0, -1, 1, 0, 0, 0, 0})));
  g.output(conv(pad(x, {1, 0, 1, 1, 0, 0, 0, 0})));
  g.output(conv(g("pad", {x, g.ints({0, 0, 1, 1, 0, 0, 1, 1})}, {{"mode", int64_t{1}}})));
  EXPECT_EQ(after(),
            "pad -> %pad\nconv -> %conv\npad -> %pad_1\nconv -> %conv_1\npad -> %pad_2\n"
            "conv -> %conv_2\npad -> %pad_3\nconv -> %conv_3\n");
}

TEST_F(FoldPads, MaximaOfWhatIsNeverNegative) {
  const AttrList window{{"kernel", Ints{3, 2}}, {"strides", Ints{2, 2}}};
  g.output(g("max_pool", {pad(x, {0, 0, 1, 1, 0, 0, 1, 1}, -INFINITY)}, window));
  const ValueId positive = g("relu", {x});
  g.output(g("max_pool", {pad(positive, {0, 0, 1, 1, 0, 0, 1, 1})}, window));
  EXPECT_EQ(after(), "max_pool -> %max_pool\nrelu -> %relu\nmax_pool -> %max_pool_1\n");
}

TEST_F(FoldPads, NoMaximaOfOthers) {
  const AttrList window{{"kernel", Ints{3, 2}}};
  g.output(g("max_pool", {pad(x, {0, 0, 1, 1, 0, 0, 1, 1})}, window));
  g.output(g("max_pool", {pad(g("relu", {x}), {0, 0, 0, 2, 0, 0, 0, 0})}, window));
  EXPECT_EQ(after(),
            "pad -> %pad\nmax_pool -> %max_pool\nrelu -> %relu\npad -> %pad_1\n"
            "max_pool -> %max_pool_1\n");
}

TEST_F(FoldPads, NoMaximaOfWindowsThatMayHaveNoElement) {
  const ValueId p = pad(g("relu", {x}), {0, 0, 0, 1, 0, 0, 0, 1});
  g.output(g("max_pool", {p}, {{"kernel", Ints{3, 2}}, {"pads", Ints{0, 1, 0, 1}}}));
  g.output(g("max_pool", {p}, {{"kernel", Ints{1, 2}}, {"dilations", Ints{1, 2}}}));
  EXPECT_EQ(after(),
            "relu -> %relu\npad -> %pad\nmax_pool -> %max_pool\nmax_pool -> %max_pool_1\n");
}

TEST_F(FoldPads, AveragesCountWhatWasPutIn) {
  const ValueId p = pad(x, {0, 0, 1, 0, 0, 0, 0, 2});
  g.output(g("average_pool", {p}, {{"kernel", Ints{3, 2}}}));
  g.output(g("lp_pool", {p}, {{"kernel", Ints{2, 2}}}));
  EXPECT_EQ(after(), "average_pool -> %average_pool\nlp_pool -> %lp_pool\n");
}

TEST_F(FoldPads, NoAveragesThatDoNotCountTheirOwnPadding) {
  g.output(g("average_pool", {pad(x, {0, 0, 1, 0, 0, 0, 0, 0})},
             {{"kernel", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}));
  EXPECT_EQ(after(), "pad -> %pad\naverage_pool -> %average_pool\n");
}

TEST_F(FoldPads, NoWindowsThatAreRoundedUp) {
  g.output(g("max_pool", {pad(x, {0, 0, 1, 0, 0, 0, 0, 0}, -INFINITY)},
             {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 4}}, {"ceil_mode", int64_t{1}}}));
  EXPECT_EQ(after(), "pad -> %pad\nmax_pool -> %max_pool\n");
}

}  // namespace
}  // namespace tilewright::graph
