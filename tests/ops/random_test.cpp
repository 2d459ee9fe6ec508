// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

std::vector<double> draw(std::string op,
                         std::vector<std::pair<std::string, graph::OnnxAttr>> attrs) {
  attrs.emplace_back("shape", std::vector<int64_t>{40, 50});
  return numbers(run_node({.op = std::move(op), .attributes = std::move(attrs)}, {})[0]);
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

TEST(Random, IsUniformBetweenItsEnds) {
  const auto x = draw("RandomUniform", {{"low", 2.0F}, {"high", 4.0F}, {"seed", 1.0F}});
  for (const double v : x) EXPECT_TRUE(v >= 2 && v < 4);
  EXPECT_NEAR(mean(x), 3, 0.05);
}

TEST(Random, IsNormal) {
  auto x = draw("RandomNormal", {{"mean", 1.0F}, {"scale", 3.0F}, {"seed", 1.0F}});
  EXPECT_NEAR(mean(x), 1, 0.3);
  for (double& v : x) v = (v - 1) * (v - 1);
  EXPECT_NEAR(std::sqrt(mean(x)), 3, 0.2);
}

TEST(Random, IsTheSameForASeedAndAnotherForAnother) {
  const auto x = draw("RandomUniform", {{"seed", 1.0F}});
  EXPECT_EQ(x, draw("RandomUniform", {{"seed", 1.0F}}));
  EXPECT_NE(x, draw("RandomUniform", {{"seed", 2.0F}}));
}

TEST(Multinomial, DrawsByTheWeights) {
  const double three = std::log(3.0);
  const auto y = run_node(
      {.op = "Multinomial", .attributes = {{"sample_size", int64_t{2000}}, {"seed", 5.0F}}},
      {floats({1, 3}, {0, three, -1000})});
  EXPECT_EQ(y[0]->shape, (std::vector<int64_t>{1, 2000}));
  EXPECT_NEAR(mean(numbers(y[0])), 0.75, 0.04);
}

}  // namespace
}  // namespace tilewright::ops
