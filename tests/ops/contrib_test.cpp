// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TestNode microsoft(std::string op,
                   std::vector<std::pair<std::string, graph::OnnxAttr>> attributes = {},
                   size_t outputs = 1) {
  return {.op = std::move(op),
          .opset = 1,
          .attributes = std::move(attributes),
          .outputs = outputs,
          .domain = "com.microsoft"};
}

TEST(Contrib, BiasGeluAddsFirst) {
  const auto y = run_node(microsoft("BiasGelu"), {floats({1, 2}, {0, 1}), floats({2}, {1, -1})});
  EXPECT_NEAR(numbers(y[0])[0], 0.8413447, 1e-6);
  EXPECT_EQ(numbers(y[0])[1], 0);
}

TEST(Contrib, FusedMatMulTransposesAndScales) {
  const auto y = run_node(microsoft("FusedMatMul", {{"transB", int64_t{1}}, {"alpha", 2.0F}}),
                          {floats({1, 2}, {1, 2}), floats({1, 2}, {3, 4})});
  EXPECT_EQ(numbers(y[0]), std::vector<double>{22});
}

TEST(Contrib, FusedGemmActivates) {
  const auto y = run_node(microsoft("FusedGemm", {{"activation", std::string("LeakyRelu")},
                                                  {"activation_alpha", 0.5F}}),
                          {floats({1, 1}, {2}), floats({1, 2}, {1, -1})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{2, -1}));
}

TEST(Contrib, SkipLayerNormalizationGivesTheSumToo) {
  const auto y = run_node(microsoft("SkipLayerNormalization", {}, 4),
                          {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {0, 1}),
                           floats({2}, {1, 1}), floats({2}, {0, 0})});
  EXPECT_EQ(numbers(y[3]), (std::vector<double>{1, 3}));
  EXPECT_NEAR(numbers(y[0])[0], -1, 1e-5);
  EXPECT_NEAR(numbers(y[0])[1], 1, 1e-5);
}

}  // namespace
}  // namespace tilewright::ops
