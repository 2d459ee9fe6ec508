// SPDX-License-Identifier: Apache-2.0
// What exporters break up becomes one kernel again, by the passes and fusion together: each in the
// shapes that two of them write.
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct ExporterShapes : testing::Test {
  Net g;
  std::mt19937 random{5};
  ValueId x = g.in("x", dims({2, 3, 8}));
  ValueId f(double v) { return g.scalar(ir::Elem::F32, v); }
  ValueId numbers(const Ints& shape) { return g.constant(random_constant(random, shape)); }
  ValueId mean(ValueId v) { return g.reduce("reduce_mean", v, {-1}); }

  /// The number of kernels that are left.
  size_t kernels_of(ValueId y) {
    g.output(y);
    const Graph before = g.take();
    PassContext context = test_context();
    context.services.evaluate = evaluate;
    const Graph after = run(default_pipeline(), before, context);
    expect_equal(before, after, 1e-6);
    return after.main().nodes.size();
  }
};

TEST_F(ExporterShapes, LayerNormOfPyTorch) {
  const ValueId d = g("sub", {x, mean(x)});
  const ValueId v = mean(g("pow", {d, f(2)}));
  const ValueId n = g("div", {d, g("sqrt", {g("add", {v, f(1e-5)})})});
  EXPECT_EQ(kernels_of(g("add", {g("mul", {n, numbers({8})}), numbers({8})})), 1u);
}
TEST_F(ExporterShapes, LayerNormOfTensorFlow) {
  const ValueId m = mean(x), d = g("sub", {x, m});
  const ValueId v = mean(g("mul", {d, d}));
  const ValueId inverse = g("reciprocal", {g("sqrt", {g("add", {v, f(1e-3)})})});
  const ValueId scale = g("mul", {inverse, numbers({8})});
  const ValueId shift = g("sub", {numbers({8}), g("mul", {m, scale})});
  EXPECT_EQ(kernels_of(g("add", {g("mul", {x, scale}), shift})), 1u);
}
TEST_F(ExporterShapes, LayerNormWithoutKeptDimensions) {
  const auto flat_mean = [&](ValueId v) {
    const ValueId m = g("reduce_mean", {v}, {{"axes", Ints{2}}, {"keepdims", int64_t{0}}});
    return g("unsqueeze", {m, g.ints({2})});
  };
  const ValueId d = g("sub", {x, flat_mean(x)});
  const ValueId v = flat_mean(g("mul", {d, d}));
  EXPECT_EQ(kernels_of(g("div", {d, g("sqrt", {g("add", {v, f(1e-5)})})})), 1u);
}

TEST_F(ExporterShapes, RmsNormOfPyTorch) {
  const ValueId m = g("add", {mean(g("pow", {x, f(2)})), f(1e-6)});
  const ValueId n = g("mul", {x, g("div", {f(1), g("sqrt", {m})})});
  EXPECT_EQ(kernels_of(g("mul", {numbers({8}), n})), 1u);
}
TEST_F(ExporterShapes, RmsNormByASumOfSquares) {
  const ValueId s = g.reduce("reduce_sum_square", x, {-1});
  const ValueId m = g("add", {g("div", {s, f(8)}), f(1e-6)});
  EXPECT_EQ(kernels_of(g("mul", {g("div", {x, g("sqrt", {m})}), numbers({8})})), 1u);
}

TEST_F(ExporterShapes, GeluByErf) {
  const ValueId e = g("add", {g("erf", {g("div", {x, f(1.4142135)})}), f(1)});
  EXPECT_EQ(kernels_of(g("mul", {g("mul", {x, e}), f(0.5)})), 1u);
}
TEST_F(ExporterShapes, GeluByErfOfAProduct) {
  const ValueId e = g("erf", {g("mul", {x, f(0.70710677)})});
  EXPECT_EQ(kernels_of(g("mul", {g("mul", {f(0.5), x}), g("add", {f(1), e})})), 1u);
}
TEST_F(ExporterShapes, GeluByTanhOfPyTorch) {
  const ValueId cube = g("mul", {g("pow", {x, f(3)}), f(0.044715)});
  const ValueId t = g("tanh", {g("mul", {g("add", {x, cube}), f(0.7978846)})});
  EXPECT_EQ(kernels_of(g("mul", {g("mul", {x, f(0.5)}), g("add", {t, f(1)})})), 1u);
}
TEST_F(ExporterShapes, GeluByTanhOfTensorFlow) {
  const ValueId square = g("add", {g("mul", {g("mul", {x, x}), f(0.044715)}), f(1)});
  const ValueId t = g("tanh", {g("mul", {g("mul", {x, f(0.7978846)}), square})});
  EXPECT_EQ(kernels_of(g("mul", {x, g("mul", {f(0.5), g("add", {f(1), t})})})), 1u);
}

TEST_F(ExporterShapes, SwishBySigmoid) {
  EXPECT_EQ(kernels_of(g("mul", {x, g("sigmoid", {x})})), 1u);
}
TEST_F(ExporterShapes, SwishByExp) {
  EXPECT_EQ(kernels_of(g("div", {x, g("add", {f(1), g("exp", {g("neg", {x})})})})), 1u);
}
TEST_F(ExporterShapes, HardSwishByClip) {
  const ValueId c = g("clip", {g("add", {x, f(3)}), f(0), f(6)});
  EXPECT_EQ(kernels_of(g("div", {g("mul", {x, c}), f(6)})), 1u);
}
TEST_F(ExporterShapes, HardSwishByHardSigmoid) {
  EXPECT_EQ(kernels_of(g("mul", {x, g("hard_sigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})})),
            1u);
}

TEST_F(ExporterShapes, SoftmaxOfAMaskedScale) {
  const ValueId s = g("add", {g("div", {x, f(8)}), g.in("mask", dims({2, 1, 8}))});
  EXPECT_EQ(kernels_of(g("softmax", {s})), 1u);
}
TEST_F(ExporterShapes, SoftmaxByItsParts) {
  const ValueId e = g("exp", {g("sub", {x, g.reduce("reduce_max", x, {-1})})});
  EXPECT_EQ(kernels_of(g("div", {e, g.reduce("reduce_sum", e, {-1})})), 1u);
}

}  // namespace
}  // namespace tilewright::graph
