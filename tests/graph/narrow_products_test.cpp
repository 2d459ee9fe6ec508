// SPDX-License-Identifier: Apache-2.0
// Products of narrower factors, and of integers.
#include <gtest/gtest.h>

#include "graph/print.h"
#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;
using ir::Elem;

struct NarrowProducts : testing::Test {
  Net g;
  std::mt19937 random{5};

  ValueId random_weights(const Ints& shape) { return g.constant(random_constant(random, shape)); }
  ValueId conv(ValueId x, int64_t in, int64_t out) {
    return g("conv", {x, random_weights({out, in, 1, 1}), random_weights({out})});
  }
  /// Compares the numbers, which differ by the rounding of factors, and gives the fused kernels.
  std::string after(double tolerance) {
    const Graph before = g.take();
    PassContext context = test_context();
    context.services.evaluate = evaluate;
    context.factors = Elem::BF16;
    graph = before;
    for (const auto pass : {narrow_products, fold_constants, remove_dead, fuse})
      graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_equal(before, graph, tolerance);
    return kernels(graph.main(), graph);
  }
  /// The element types of what kernels read and make, by name.
  Elem elem(const std::string& name) {
    for (const Value& v : graph.values)
      if (v.name == name && v.type.tensor()) return v.type.tensor()->elem;
    ADD_FAILURE() << "no value " << name;
    return Elem::Bool;
  }
  Graph graph;
};

TEST_F(NarrowProducts, StoresWhatOnlyProductsReadInTheNarrowTypeOnly) {
  const ValueId x = g.in("x", dims({1, 8, 4, 4}));
  const ValueId a = g("relu", {conv(x, 8, 16)});
  const ValueId b = g("relu", {conv(a, 16, 16)});
  g.output(g("add", {conv(b, 16, 16), conv(b, 16, 16)}));
  EXPECT_EQ(after(0.05),
            "cast -> %cast\n"
            "conv_to_f32_relu_cast -> %cast_2\n"
            "conv_to_f32_relu_cast -> %cast_4\n"
            "conv_to_f32 -> %conv_2\n"
            "conv_to_f32_add -> %add\n");
  EXPECT_EQ(elem("cast_2"), Elem::BF16);
}

TEST_F(NarrowProducts, OthersReadWhatAProductReadsAsItWasMade) {
  const ValueId x = g.in("x", dims({1, 8, 4, 4}));
  const ValueId a = g("relu", {conv(x, 8, 16)});
  g.output(g("add", {conv(a, 16, 16), a}));
  EXPECT_EQ(after(0.05),
            "cast -> %cast\n"
            "conv_to_f32_relu_cast -> %relu %cast_2\n"
            "conv_to_f32_add -> %add\n");
}

TEST_F(NarrowProducts, RoundsNothingThatNoProductReads) {
  const ValueId x = g.in("x", dims({6, 8}));
  const ValueId y = g("mul", {x, x});
  g("matmul", {y, random_weights({8, 8})});
  const ValueId moved = g("transpose", {y}, {{"axes", Ints{1, 0}}});
  g("matmul", {moved, random_weights({6, 3})});
  g.output(g("sub", {y, g.constant(float_constant(Elem::F32, {}, {1}))}));
  g.output(moved);
  after(0);
}

/// What products add is below the tolerance: rounding the values between them would show.
TEST_F(NarrowProducts, KeepsAResidualStream) {
  ValueId h = g.in("x", dims({2, 8}));
  const ValueId w = g.constant(random_constant(random, {8, 8}, -1e-6, 1e-6));
  const ValueId scale = g.constant(float_constant(Elem::F32, {}, {1.00098}));
  for (int i = 0; i < 30; ++i) h = g("mul", {g("add", {h, g("matmul", {h, w})}), scale});
  g.output(h);
  after(1e-6);
}

TEST_F(NarrowProducts, MovesTheNarrowElements) {
  const ValueId x = g.in("x", dims({2, 6, 8}));
  const ValueId y = g("add", {x, x});
  const ValueId t = g("transpose", {y}, {{"axes", Ints{0, 2, 1}}});
  const ValueId v = g("reshape", {t, g.ints({16, 6})});
  g.output(g("matmul", {v, random_weights({6, 5})}));
  EXPECT_EQ(
      after(0.02),
      "add_cast_transpose -> %transpose_1\nreshape -> %reshape_1\nmatmul_to_f32 -> %matmul\n");
  EXPECT_EQ(elem("transpose_1"), Elem::BF16);
}

TEST_F(NarrowProducts, DepthwiseConvolutionsReadTheNarrowTypeAndMultiplyTheirOwn) {
  const auto depthwise = [&](ValueId x) {
    return g("conv", {x, random_weights({16, 1, 3, 3}), random_weights({16})},
             {{"group", int64_t{16}}, {"pads", Ints{1, 1, 1, 1}}});
  };
  const ValueId x = g.in("x", dims({1, 8, 5, 5}));
  const ValueId a = g("relu", {conv(x, 8, 16)});
  const ValueId b = g("relu", {depthwise(a)});
  g.output(conv(b, 16, 8));
  g.output(depthwise(g.in("y", dims({1, 16, 5, 5}))));  // what no kernel makes stays as it is
  EXPECT_EQ(after(0.05),
            "cast -> %cast\n"
            "conv_to_f32_relu_cast -> %cast_2\n"
            "conv_to_f32_relu_cast -> %cast_3\n"
            "conv_to_f32 -> %conv_2\n"
            "conv -> %conv_3\n");
  EXPECT_EQ(elem("cast_2"), Elem::BF16);
  const Node& thin = graph.main().nodes[2].bodies[0].nodes[0];
  EXPECT_EQ(graph.type(thin.inputs[0]).tensor()->elem, Elem::BF16);
  EXPECT_EQ(graph.type(thin.inputs[1]).tensor()->elem, Elem::F32);
}

TEST_F(NarrowProducts, KeepsOutputsAndSmallConvolutions) {
  const ValueId x = g.in("x", dims({1, 3, 6, 6}));
  const ValueId a = g("relu", {conv(x, 3, 8)});  // three channels: f32
  g.output(a);
  g.output(conv(a, 8, 4));
  const std::string left = after(0.02);
  EXPECT_EQ(left.find("conv_relu"), 0u) << left;
  const Graph& now = graph;
  EXPECT_EQ(now.type(now.main().outputs[0]).tensor()->elem, Elem::F32);
  EXPECT_NE(left.find("conv_to_f32"), std::string::npos) << left;
}

TEST_F(NarrowProducts, DoesNothingUnlessAsked) {
  g.output(conv(g.in("x", dims({1, 8, 4, 4})), 8, 8));
  PassContext context = test_context();
  const Graph now = narrow_products(g.take(), context);
  EXPECT_EQ(kernels(now.main(), now), "conv -> %conv\n");
}

struct IntegerProducts : testing::Test {
  Net g;
  std::mt19937 random{7};

  ValueId bytes(Elem elem, const Ints& shape, int64_t low, int64_t high) {
    int64_t count = 1;
    for (const int64_t d : shape) count *= d;
    std::uniform_int_distribution<int64_t> number(low, high);
    Ints values;
    for (int64_t i = 0; i < count; ++i) values.push_back(number(random));
    return g.constant(int_constant(elem, shape, values));
  }
  ValueId scales(const Ints& shape) {
    return g.constant(random_constant(random, shape, 0.01, 0.02));
  }
  ValueId real(const std::vector<ValueId>& inputs) {
    return g("dequantize", inputs, {{"axis", int64_t{0}}, {"to", static_cast<int64_t>(Elem::F32)}});
  }
  ValueId quantised(ValueId x, Elem to, int64_t zero) {
    const ValueId scale = g.constant(float_constant(Elem::F32, {}, {0.011}));
    const ValueId z = g.constant(int_constant(to, {}, {zero}));
    const ValueId q =
        g("quantize", {x, scale, z}, {{"to", static_cast<int64_t>(to)}, {"axis", int64_t{0}}});
    return real({q, scale, z});
  }
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = before;
    for (const auto pass : {integer_products, remove_dead}) graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_equal(before, graph, 1e-5);
    return kernels(graph.main(), graph);
  }
};

TEST_F(IntegerProducts, ConvolvesBytes) {
  const ValueId x = g.in("x", dims({1, 4, 5, 5}));
  const ValueId w = real({bytes(Elem::I8, {6, 4, 3, 3}, -128, 127), scales({6}),
                          g.constant(int_constant(Elem::I8, {6}, {0, 0, 0, 0, 0, 0}))});
  g.output(g("conv", {quantised(x, Elem::U8, 119), w, scales({6})}, {{"pads", Ints{1, 1, 1, 1}}}));
  EXPECT_EQ(after(),
            "quantize -> %quantize\nconv_integer -> %conv_integer\n"
            "cast -> %cast\nmul -> %mul\nreshape -> %reshape\nadd -> %conv\n");
}

TEST_F(IntegerProducts, MultipliesSignedBytesByUnsignedOnes) {
  const ValueId x = g.in("x", dims({3, 8}));
  const ValueId w = real(
      {bytes(Elem::U8, {8, 5}, 0, 255), scales({}), g.constant(int_constant(Elem::U8, {}, {128}))});
  g.output(g("matmul", {quantised(x, Elem::I8, -7), w}, {{"alpha", 0.5}}));
  EXPECT_NE(after().find("matmul_integer"), std::string::npos);
}

TEST_F(IntegerProducts, TakesAnyZeroPointAndNumberOfTerms) {
  const ValueId x = quantised(g.in("x", dims({3, 7})), Elem::U8, 100);
  for (const auto& [elem, zero] : {std::pair(Elem::I8, 3), std::pair(Elem::U8, 140)}) {
    const int64_t low = elem == Elem::I8 ? -128 : 0;
    g.output(g("matmul", {x, real({bytes(elem, {7, 5}, low, low + 255), scales({}),
                                   g.constant(int_constant(elem, {}, {zero}))})}));
    const ValueId columns = real({bytes(elem, {5, 7}, low, low + 255), scales({5}),
                                  g.constant(int_constant(elem, {5}, {0, 1, zero, 3, 4}))});
    g.output(g("matmul", {x, columns}, {{"trans_b", int64_t{1}}}));
  }
  const std::string kernels = after();
  EXPECT_EQ(kernels.find("matmul ->"), std::string::npos) << kernels;
}

TEST_F(IntegerProducts, ConvolvesAnyNumberOfChannels) {
  const ValueId x = quantised(g.in("x", dims({2, 3, 5, 6})), Elem::U8, 100);
  const ValueId w = real({bytes(Elem::U8, {4, 3, 3, 2}, 0, 255), scales({4}),
                          g.constant(int_constant(Elem::U8, {4}, {128, 120, 0, 255}))});
  g.output(g("conv", {x, w}, {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 1}}}));
  const ValueId in_groups = real({bytes(Elem::I8, {4, 4, 1, 1}, -128, 127), scales({}),
                                  g.constant(int_constant(Elem::I8, {}, {9}))});
  const ValueId many = quantised(g.in("y", dims({1, 8, 3, 3})), Elem::I8, 5);
  g.output(g("conv", {many, in_groups}, {{"group", int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}}));
  const std::string kernels = after();
  EXPECT_EQ(kernels.find("conv ->"), std::string::npos) << kernels;
}

TEST_F(IntegerProducts, LeavesOtherAxesAndSingleChannels) {
  const ValueId x = quantised(g.in("x", dims({3, 8})), Elem::U8, 100);
  g.output(g("matmul", {x, real({bytes(Elem::I8, {8, 5}, -128, 127), scales({8})})}));
  const ValueId y = quantised(g.in("y", dims({1, 4, 3, 3})), Elem::U8, 100);
  g.output(g("conv", {y, real({bytes(Elem::I8, {4, 1, 3, 3}, -128, 127), scales({})})},
             {{"group", int64_t{4}}}));
  EXPECT_EQ(after().find("_integer"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::graph
