// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/group.h"
#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct Fused {
  Graph graph;
  FusionReport report;

  std::string text() const { return kernels(graph.main(), graph); }
  std::string reason(const std::string& producer, const std::string& consumer) const {
    for (const NotFused& n : report)
      if (n.producer == producer && n.consumer == consumer) return n.reason;
    return {};
  }
};

Fused fused(const Graph& graph) {
  PassContext context = test_context();
  Fused out;
  const Pass passes[] = {{"remove_dead", remove_dead}, {"fuse", fuse}};
  out.graph = run(passes, graph, context);
  verify_types(out.graph);
  out.report = context.fusion;
  return out;
}

ValueId conv(Net& g, ValueId x, int64_t in, int64_t out) {
  return g("conv", {x, g.weights({out, in, 3, 3})}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
}

TEST(Fuse, PutsEpiloguesIntoConvolutions) {
  Net g;
  const ValueId x = g.in("x", dims({1, 4, 8, 8}));
  const ValueId c = conv(g, x, 4, 4);
  const ValueId b = g("add", {c, g.weights({4, 1, 1})});
  g.output(g("relu", {g("add", {b, x})}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "conv_add_add_relu -> %relu\n");
  const Node& group = f.graph.main().nodes[0];
  EXPECT_EQ(group.inputs.size(), 3u);  // x once, weights, bias
  EXPECT_EQ(group.bodies[0].outputs, group.outputs);
}

TEST(Fuse, LeavesAConcatAloneThatHasItsInputsInPlace) {
  const auto net = [](int64_t batch) {
    Net g;
    const ValueId x = g.in("x", dims({batch, 4, 8, 8}));
    const ValueId c = g("concat", {conv(g, x, 4, 4), g("neg", {x})}, {{"axis", int64_t{1}}});
    g.output(conv(g, c, 8, 4));
    return fused(g.take());
  };
  EXPECT_EQ(net(1).reason("neg", "concat"), "it is written to its place in the result instead");
  EXPECT_EQ(net(2).reason("neg", "concat"), "");
}

TEST(Fuse, LeavesAConcatOfProductsAloneWhereverItIsRead) {
  const auto net = [](const std::string& second) {
    Net g;
    const ValueId x = g.in("x", dims({1, 4, 8, 8}));
    const ValueId a = conv(g, x, 4, 4), b = second == "conv" ? conv(g, x, 4, 4) : g(second, {x});
    const ValueId c = g("concat", {a, b}, {{"axis", int64_t{1}}});
    g.output(g("max_pool", {c}, {{"kernel", Ints{3, 3}}}));
    return fused(g.take());
  };
  EXPECT_EQ(net("conv").text(),
            "conv -> %conv\nconv -> %conv_1\nconcat -> %concat\nmax_pool -> %max_pool\n");
  EXPECT_EQ(net("conv").reason("concat", "max_pool"),
            "its inputs are written to their places in it, so that it costs nothing");
  EXPECT_EQ(net("neg").text(), "conv -> %conv\nneg_concat_max_pool -> %max_pool\n");
}

TEST(Fuse, GivesAResidualToTheLastConvolution) {
  Net g;
  const ValueId x = g.in("x", dims({1, 4, 8, 8}));
  const ValueId a = conv(g, x, 4, 4);
  const ValueId b = conv(g, g("relu", {a}), 4, 4);
  g.output(g("add", {a, b}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "conv_relu -> %conv %relu\nconv_add -> %add\n");
  EXPECT_EQ(f.reason("relu", "conv_1"),
            "only operators that work element by element follow on it in one kernel");
}

TEST(Fuse, ReadsAShortcutAsTheIntegersThatItIs) {
  Net g;
  const auto quantised = [&](ValueId x) {
    const ValueId scale = g.weights({}, 0.1);
    const ValueId q = g("quantize", {x, scale}, {{"to", static_cast<int64_t>(ir::Elem::I8)}});
    return std::pair(q, g("dequantize", {q, scale}, {{"to", static_cast<int64_t>(ir::Elem::F32)}}));
  };
  const ValueId x = g.in("x", dims({1, 4, 8, 8}));
  const auto [q, a] = quantised(conv(g, x, 4, 4));
  const ValueId w = g.constant(int_constant(ir::Elem::I8, {4, 4, 1, 1},
                                            Ints{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}));
  const ValueId sums = g("conv_integer", {q, w});
  const ValueId b =
      quantised(g("cast", {sums}, {{"to", static_cast<int64_t>(ir::Elem::F32)}})).second;
  g.output(g("add", {a, b}));
  EXPECT_EQ(fused(g.take()).text(),
            "conv_quantize -> %quantize\n"
            "dequantize_conv_integer_cast_quantize_dequantize_add -> %add\n");
}

TEST(Fuse, NeverMakesACycleThroughAnotherKernel) {
  Net g;
  const ValueId x = g.in("x", dims({1, 4, 8, 8}));
  const ValueId e = g("exp", {x});
  const ValueId s = g("top_k", {e, g.ints({8})});
  g.output(g("add", {e, s}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "exp -> %exp\ntop_k -> %top_k\nadd -> %add\n");
  EXPECT_EQ(f.reason("exp", "add"), "a node in between needs the one and is needed by the other");
}

TEST(Fuse, MovesWhatAnEpilogueNeedsBeforeItsKernel) {
  Net g;
  const ValueId x = g.in("x", dims({1, 4, 8, 8}));
  const ValueId y = g.in("y", dims({1, 4, 8, 8}));
  const ValueId c = conv(g, x, 4, 4);
  const ValueId s = g("top_k", {y, g.ints({8})});
  g.output(g("add", {c, s}));
  EXPECT_EQ(fused(g.take()).text(), "top_k -> %top_k\nconv_add -> %add\n");
}

TEST(Fuse, ComputesTheSame) {
  Net g;
  const ValueId x = g.in("x", dims({1, 4, 6, 6}));
  const ValueId c = g("relu", {g("add", {conv(g, g("exp", {x}), 4, 4), x})});
  const ValueId s = g("softmax", {g("mul", {c, g.scalar(ir::Elem::F32, 3)})});
  g.output(g("sub", {s, g.reduce("reduce_mean", s, {-1})}));
  g.output(c);
  const Graph before = g.take();
  const Graph after = fused(before).graph;
  EXPECT_LT(after.main().nodes.size(), before.main().nodes.size());
  expect_equal(before, after, 0);
}

TEST(Fuse, PutsTheReductionsOfALayerNormTogether) {
  Net g;
  const ValueId x = g.in("x", dims({2, 16, 64}));
  const ValueId y = g("add", {x, g.in("skip", dims({2, 16, 64}))});
  const ValueId centred = g("sub", {y, g.reduce("reduce_mean", y, {-1})});
  const ValueId variance = g.reduce("reduce_mean", g("mul", {centred, centred}), {-1});
  const ValueId deviation = g("sqrt", {g("add", {variance, g.scalar(ir::Elem::F32, 1e-5)})});
  const ValueId normal = g("div", {centred, deviation});
  g.output(g("add", {g("mul", {normal, g.weights({64})}), g.weights({64})}));
  EXPECT_EQ(fused(g.take()).text(),
            "add_reduce_mean_sub_mul_reduce_mean_add_sqrt_div_mul_add -> %add_2\n");
}

TEST(Fuse, KeepsReductionsOverOtherRowsApart) {
  Net g;
  const ValueId x = g.in("x", dims({16, 16}));
  const ValueId a = g("sub", {x, g.reduce("reduce_mean", x, {1})});
  g.output(g.reduce("reduce_max", a, {0}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "reduce_mean_sub -> %sub\nreduce_max -> %reduce_max\n");
  EXPECT_EQ(f.reason("sub", "reduce_max"), "it reduces other rows");
}

/// softmax(q kᵀ + mask) v of heads that stand beside each other.
struct Attention {
  Net g;
  ValueId scores, probabilities, result;

  Attention() {
    const auto heads = [&](const char* name) {
      return g("transpose", {g.in(name, dims({2, 6, 3, 8}))}, {{"axes", Ints{0, 2, 1, 3}}});
    };
    const ValueId q = heads("q"), k = heads("k"), v = heads("v");
    scores = g("matmul", {q, k}, {{"trans_b", int64_t{1}}, {"alpha", 0.5}});
    probabilities = g("softmax", {g("add", {scores, g.in("mask", dims({6}))})});
    result = g("matmul", {probabilities, v});
    g.output(g("transpose", {result}, {{"axes", Ints{0, 2, 1, 3}}}));
  }
};

TEST(Fuse, MakesOneKernelOfAttention) {
  Attention a;
  const Graph before = a.g.take();
  const Fused f = fused(before);
  EXPECT_EQ(f.text(),
            "transpose_transpose_transpose_matmul_add_softmax_matmul_transpose -> %transpose_3\n");
  expect_equal(before, f.graph, 0);
}

TEST(Fuse, KeepsScoresThatOthersRead) {
  Attention a;
  a.g.output(a.scores);
  const Fused f = fused(a.g.take());
  EXPECT_EQ(f.text(),
            "transpose_transpose_matmul_add -> %matmul %add\nsoftmax -> %softmax\n"
            "transpose_matmul_transpose -> %transpose_3\n");
  EXPECT_EQ(f.reason("add", "softmax"), "others read the product too");
}

TEST(Fuse, KeepsProbabilitiesThatOthersRead) {
  Attention a;
  a.g.output(a.probabilities);
  const Fused f = fused(a.g.take());
  EXPECT_EQ(f.reason("add", "softmax"), "its rows are not summed by one product");
}

TEST(Fuse, SumsOverOtherDimensionsApart) {
  Net g;
  const ValueId s = g("matmul", {g.in("a", dims({6, 4})), g.in("b", dims({4, 6}))});
  g.output(g("matmul", {g("softmax", {s}), g.in("c", dims({6, 5}))}, {{"trans_a", int64_t{1}}}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "matmul -> %matmul\nsoftmax -> %softmax\nmatmul -> %matmul_1\n");
  EXPECT_EQ(f.reason("matmul", "softmax"), "its rows are not summed by one product");
}

TEST(Fuse, ComputesNothingAgainBehindATranspose) {
  Net g;
  const ValueId e = g("exp", {g.in("x", dims({4, 6, 8}))});
  const ValueId turned = g("transpose", {e}, {{"axes", Ints{1, 0, 2}}});
  const ValueId m = g("matmul", {turned, g.in("w", dims({8, 8}))});
  g.output(g("add", {g("transpose", {m}, {{"axes", Ints{1, 0, 2}}}), e}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "exp -> %exp\ntranspose_matmul_transpose_add -> %add\n");
  EXPECT_EQ(f.reason("exp", "add"), "`matmul` reads its elements many times");
}

TEST(Fuse, LeavesATransposeThatMovesTheLastDimension) {
  Net g;
  const ValueId x = g("transpose", {g.in("x", dims({4, 6, 8}))}, {{"axes", Ints{2, 0, 1}}});
  g.output(g("matmul", {x, g.in("y", dims({6, 5}))}));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "transpose -> %transpose\nmatmul -> %matmul\n");
  EXPECT_EQ(f.reason("transpose", "matmul"), "`matmul` reads its elements many times");
}

TEST(Fuse, KnowsTheLastDimensionBehindThoseOfExtentOne) {
  Net g;
  const ValueId x = g("transpose", {g.in("x", dims({1, 8, 4, 1}))}, {{"axes", Ints{0, 2, 1, 3}}});
  g.output(g("conv", {x, g.weights({5, 4, 3, 1})}));
  EXPECT_EQ(fused(g.take()).text(), "transpose -> %transpose\nconv -> %conv\n");
}

TEST(Fuse, LeavesExpensiveProducersOutOfWindows) {
  Net g;
  const ValueId x = g.in("x", dims({1, 8, 32, 32}));
  const AttrList pool{{"kernel", std::vector<int64_t>{3, 3}}};
  g.output(g("max_pool", {g("relu", {x})}, pool));
  g.output(g("max_pool", {g("erf", {x})}, pool));
  const Fused f = fused(g.take());
  EXPECT_EQ(f.text(), "relu_max_pool -> %max_pool\nerf -> %erf\nmax_pool -> %max_pool_1\n");
  EXPECT_NE(f.reason("erf", "max_pool_1").find("times"), std::string::npos);
}

TEST(Fuse, ComputesABroadcastValueOnce) {
  Net g;
  const ValueId x = g.in("x", dims({512, 512}));
  const ValueId small = g("exp", {g.in("s", dims({512}))});
  g.output(g("add", {x, small}));
  EXPECT_EQ(fused(g.take()).text(), "exp -> %exp\nadd -> %add\n");
}

TEST(Fuse, LeavesViewsToThePlan) {
  Net g;
  const ValueId x = g.in("x", dims({4, 6}));
  const ValueId r = g("reshape", {g("relu", {x}), g.ints({24})});
  g.output(g("neg", {r}));
  EXPECT_EQ(fused(g.take()).text(), "relu -> %relu\nreshape -> %reshape\nneg -> %neg\n");
}

TEST(Fuse, ReadsSizesBeforeTheKernelThatUsesThem) {
  Net g;
  const ValueId n = g.in("n", dims({1}), ir::Elem::I64);
  const ValueId x = g.in("x", dims({4, 6}));
  const ValueId twice = g("add", {n, n});  // the new shape is read from it
  const ValueId y = g("reshape", {x, twice});
  g.output(g("neg", {y}));
  g.output(g("neg", {g("mul", {twice, twice})}));
  const Fused f = fused(g.take());
  // `twice` is a result although a kernel could keep it to itself.
  EXPECT_EQ(f.text().substr(0, 12), "add -> %add\n") << f.text();
}

TEST(Fuse, TellsWhichInputsAResultMayReplace) {
  Net g;
  const ValueId a = g.in("a", dims({4, 6})), b = g.in("b", dims({6}));
  g.output(g("relu", {g("add", {a, b})}));
  g.output(g("relu", {g("transpose", {g.in("c", dims({4, 4}))}, {{"axes", Ints{1, 0}}})}));
  Fused f = fused(g.take());
  const std::vector<Node> groups = f.graph.main().nodes;
  EXPECT_EQ(in_place_inputs(f.graph, groups[0]), std::vector<ValueId>{a});
  EXPECT_TRUE(in_place_inputs(f.graph, groups[1]).empty());  // elements change places
}

TEST(Fuse, LimitsTheSizeOfAGroup) {
  Net g;
  ValueId x = g.in("x", dims({8}));
  for (int i = 0; i < 100; ++i) x = g("sin", {x});
  g.output(x);
  const Fused f = fused(g.take());
  ASSERT_EQ(f.graph.main().nodes.size(), 2u);
  EXPECT_EQ(f.graph.main().nodes[0].bodies[0].nodes.size(), 64u);
}

TEST(Fuse, DoesNotRepeatAFormulaWithoutEnd) {
  Net g;
  ValueId x = g.in("x", dims({64}));
  for (int i = 0; i < 40; ++i) x = g("add", {x, x});  // 2^40 times the first one
  g.output(x);
  const Fused f = fused(g.take());
  for (const Node& n : f.graph.main().nodes) EXPECT_LE(n.bodies.at(0).nodes.size(), 12u);
  EXPECT_NE(f.report.at(0).reason.find("read too often"), std::string::npos);
}

TEST(Fuse, TakesTenThousandNodes) {
  Net g;
  ValueId x = g.in("x", dims({1, 4, 8, 8}));
  const ValueId first = x;
  for (int i = 0; i < 2000; ++i) {
    const ValueId c = conv(g, x, 4, 4);
    x = g("relu", {g("add", {g("mul", {c, g("sigmoid", {c})}), i % 7 ? x : first})});
  }
  g.output(x);
  const Fused f = fused(g.take());
  EXPECT_EQ(f.graph.main().nodes.size(), 2000u);
}

}  // namespace
}  // namespace tilewright::graph
