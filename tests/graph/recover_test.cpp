// SPDX-License-Identifier: Apache-2.0
// Patterns as exporters other than PyTorch's write them, and what must not be taken for one.
// tests/python/test_patterns.py has PyTorch's own.
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct Recover : testing::Test {
  Net g;
  std::mt19937 random{5};
  ValueId x = g.in("x", dims({2, 5, 16}));

  ValueId f(double value) { return g.scalar(ir::Elem::F32, value); }
  ValueId random_weights(const Ints& shape) { return g.constant(random_constant(random, shape)); }
  ValueId mean(ValueId of, Ints axes = {-1}) {
    return g.reduce("reduce_mean", of, std::move(axes));
  }

  /// Recovers, compares the numbers, and gives what is left.
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = before;
    for (const auto pass :
         {recover_activations, recover_norms, recover_softmax, recover_attention, remove_dead})
      graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_equal(before, graph, 1e-5);
    return kernels(graph.main(), graph);
  }
};

TEST_F(Recover, GeluWithTheHalfOnX) {
  const ValueId erf = g("erf", {g("mul", {x, f(0.70710678)})});
  g.output(g("mul", {g("mul", {x, f(0.5)}), g("add", {f(1), erf})}));
  EXPECT_EQ(after(), "gelu -> %mul_2\n");
}

TEST_F(Recover, GeluWithTheHalfInTheSum) {
  const ValueId erf = g("erf", {g("div", {x, f(1.4142135)})});
  g.output(g("mul", {g("add", {g("mul", {erf, f(0.5)}), f(0.5)}), x}));
  EXPECT_EQ(after(), "gelu -> %mul_1\n");
}

TEST_F(Recover, GeluOfTanhWithFactoredCube) {
  const ValueId inner = g("add", {g("mul", {g("mul", {x, f(0.044715)}), x}), f(1)});
  const ValueId tanh = g("tanh", {g("mul", {g("mul", {x, f(0.7978845608)}), inner})});
  g.output(g("mul", {g("mul", {x, f(0.5)}), g("add", {tanh, f(1)})}));
  EXPECT_EQ(after(), "gelu_tanh -> %mul_5\n");
}

TEST_F(Recover, NoGeluWithOtherConstants) {
  const ValueId erf = g("erf", {g("mul", {x, f(0.70)})});
  g.output(g("mul", {g("mul", {x, f(0.5)}), g("add", {f(1), erf})}));
  EXPECT_EQ(after(), "mul -> %mul\nerf -> %erf\nmul -> %mul_1\nadd -> %add\nmul -> %mul_2\n");
}

TEST_F(Recover, NoGeluOfAnotherValue) {
  const ValueId y = g.in("y", dims({2, 5, 16}));
  const ValueId erf = g("erf", {g("mul", {y, f(0.70710678)})});
  g.output(g("mul", {g("mul", {x, f(0.5)}), g("add", {f(1), erf})}));
  EXPECT_EQ(after(), "mul -> %mul\nerf -> %erf\nmul -> %mul_1\nadd -> %add\nmul -> %mul_2\n");
}

TEST_F(Recover, NoGeluWhenAPartIsReadElsewhere) {
  const ValueId erf = g("erf", {g("mul", {x, f(0.70710678)})});
  g.output(g("mul", {g("mul", {x, f(0.5)}), g("add", {f(1), erf})}));
  g.output(erf);
  EXPECT_EQ(after().find("gelu"), std::string::npos);
}

TEST_F(Recover, SwishWithAFactorAndAsAQuotient) {
  const ValueId a = g("mul", {x, g("sigmoid", {g("mul", {x, f(1.702)})})});
  const ValueId y = g.in("y", dims({3, 4}));
  g.output(a);
  g.output(g("div", {y, g("add", {g("exp", {g("neg", {y})}), f(1)})}));
  EXPECT_EQ(after(), "swish -> %mul_1\nswish -> %div\n");
}

TEST_F(Recover, HardSwishOfClippedSums) {
  const ValueId six = g("clip", {g("add", {x, f(3)}), f(0), f(6)});
  g.output(g("mul", {x, g("mul", {six, f(1.0 / 6)})}));
  EXPECT_EQ(after(), "hard_swish -> %mul_1\n");
}

TEST_F(Recover, NoHardSwishOfOtherLimits) {
  const ValueId five = g("clip", {g("add", {x, f(3)}), f(0), f(5)});
  g.output(g("mul", {x, g("mul", {five, f(1.0 / 6)})}));
  EXPECT_EQ(after(), "add -> %add\nclip -> %clip\nmul -> %mul\nmul -> %mul_1\n");
}

/// x * i + (bias - mean * i)
TEST_F(Recover, LayerNormAsTensorFlowWritesIt) {
  const ValueId m = mean(x), d = g("sub", {x, m});
  const ValueId v = g("add", {mean(g("mul", {d, d})), f(1e-3)});
  const ValueId i = g("mul", {g("reciprocal", {g("sqrt", {v})}), random_weights({16})});
  g.output(g("add", {g("mul", {x, i}), g("sub", {random_weights({16}), g("mul", {m, i})})}));
  EXPECT_EQ(after(), "layer_norm -> %add_1\n");
}

TEST_F(Recover, LayerNormWithTheInverseRoot) {
  const ValueId d = g("sub", {x, mean(x)});
  const ValueId v = g("add", {mean(g("pow", {d, f(2)})), f(1e-5)});
  const ValueId n = g("mul", {g("div", {f(1), g("sqrt", {v})}), d});
  g.output(g("add", {random_weights({16}), g("mul", {n, random_weights({16})})}));
  EXPECT_EQ(after(), "layer_norm -> %add_1\n");
}

TEST_F(Recover, InstanceNormIsALayerNormOfChannels) {
  const ValueId y = g.in("y", dims({2, 3, 4, 5}));
  const ValueId d = g("sub", {y, mean(y, {2, 3})});
  const ValueId v = g("add", {mean(g("mul", {d, d}), {2, 3}), f(1e-5)});
  const ValueId n = g("div", {d, g("sqrt", {v})});
  g.output(g("add", {g("mul", {n, random_weights({3, 1, 1})}), random_weights({3, 1, 1})}));
  EXPECT_EQ(after(), "layer_norm -> %add_1\n");
}

TEST_F(Recover, NoLayerNormWhenTheMeansDiffer) {
  const ValueId d = g("sub", {x, mean(x, {1, 2})});
  const ValueId v = g("add", {mean(g("mul", {d, d})), f(1e-5)});
  g.output(g("div", {d, g("sqrt", {v})}));
  // What is left is the norm of rows that have been shifted before.
  EXPECT_EQ(after(), "reduce_mean -> %reduce_mean\nsub -> %sub\nrms_norm -> %div\n");
}

TEST_F(Recover, NoNormOfTheFirstDimension) {
  const ValueId v = g("add", {mean(g("mul", {x, x}), {0}), f(1e-5)});
  g.output(g("div", {x, g("sqrt", {v})}));
  EXPECT_EQ(after().find("norm"), std::string::npos);
}

TEST_F(Recover, RmsNormWithAPower) {
  const ValueId v = g("add", {mean(g("pow", {x, f(2)})), f(1e-6)});
  g.output(g("mul", {g("mul", {x, g("pow", {v, f(-0.5)})}), random_weights({16})}));
  EXPECT_EQ(after(), "rms_norm -> %mul_1\n");
}

TEST_F(Recover, AScaleThatMayWidenTheRowsStaysOutside) {
  const ValueId y = g.in("y", {Dim(8), g.symbol("n")});  // n is 4 or 1
  const ValueId v = g("add", {g.reduce("reduce_mean", g("mul", {y, y}), {1}), f(1e-6)});
  g.output(g("mul", {g("div", {y, g("sqrt", {v})}), random_weights({4})}));
  PassContext context = test_context();
  const Graph graph = remove_dead(recover_norms(g.take(), context), context);
  EXPECT_EQ(kernels(graph.main(), graph), "rms_norm -> %div\nmul -> %mul_1\n");
}

TEST_F(Recover, ASecondScaleStaysOutside) {
  const ValueId v = g("add", {mean(g("mul", {x, x})), f(1e-6)});
  const ValueId n = g("div", {x, g("sqrt", {v})});
  g.output(g("mul", {g("mul", {n, random_weights({16})}), random_weights({16})}));
  EXPECT_EQ(after(), "rms_norm -> %mul_1\nmul -> %mul_2\n");
}

TEST_F(Recover, SoftmaxWithAndWithoutTheMaximum) {
  const ValueId e = g("exp", {g("sub", {x, g.reduce("reduce_max", x, {1})})});
  g.output(g("div", {e, g.reduce("reduce_sum", e, {1})}));
  const ValueId plain = g("exp", {x});
  g.output(g("div", {plain, g.reduce("reduce_sum", plain, {-1})}));
  EXPECT_EQ(after(), "softmax -> %div\nsoftmax -> %div_1\n");
}

TEST_F(Recover, SoftmaxOfWhatIsShiftedOtherwise) {
  const ValueId e = g("exp", {g("sub", {x, g.reduce("reduce_max", x, {1})})});
  g.output(g("div", {e, g.reduce("reduce_sum", e, {-1})}));
  EXPECT_EQ(after(), "reduce_max -> %reduce_max\nsub -> %sub\nsoftmax -> %div\n");
}

TEST_F(Recover, ScalesOfQueriesKeysAndScores) {
  const ValueId k = g.in("k", dims({2, 16, 5}));
  const ValueId s = g("matmul", {g("mul", {x, f(0.6)}), g("mul", {f(0.6), k})});
  g.output(g("div", {s, f(3)}));
  EXPECT_EQ(after(), "matmul -> %div\n");
}

TEST_F(Recover, AScaledOperandThatOthersReadStays) {
  const ValueId k = g.in("k", dims({2, 16, 5}));
  const ValueId q = g("mul", {x, f(0.6)});
  g.output(g("matmul", {q, k}));
  g.output(q);
  EXPECT_EQ(after(), "mul -> %mul\nmatmul -> %matmul\n");
}

TEST_F(Recover, TransposeOfStackedKeys) {
  const ValueId k = g.in("k", dims({2, 3, 4, 5}));
  const ValueId joined = g("reshape", {k, g.ints({6, 4, 5})});
  const ValueId turned = g("transpose", {joined}, {{"axes", Ints{0, 2, 1}}});
  g.output(g("reshape", {turned, g.ints({2, 3, 5, 4})}));
  EXPECT_EQ(after(), "transpose -> %reshape_1\n");
}

TEST_F(Recover, NoTransposeOfOtherStacks) {
  const ValueId k = g.in("k", dims({2, 3, 4, 5}));
  const ValueId joined = g("reshape", {k, g.ints({6, 4, 5})});
  const ValueId turned = g("transpose", {joined}, {{"axes", Ints{0, 2, 1}}});
  g.output(g("reshape", {turned, g.ints({3, 2, 5, 4})}));
  EXPECT_EQ(after(), "reshape -> %reshape\ntranspose -> %transpose\nreshape -> %reshape_1\n");
}

}  // namespace
}  // namespace tilewright::graph
