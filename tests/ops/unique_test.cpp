// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

std::vector<std::vector<double>> unique(const graph::Constant& x,
                                        std::vector<std::pair<std::string, graph::OnnxAttr>> attrs,
                                        bool symbolic = false) {
  std::vector<std::vector<double>> out;
  for (const auto& y : run_node(
           {.op = "Unique", .attributes = std::move(attrs), .outputs = 4, .symbolic = symbolic},
           {x}))
    out.push_back(numbers(y));
  return out;
}

TEST(Unique, SortsValuesAndSaysWhereTheyCameFrom) {
  for (const bool symbolic : {false, true}) {
    const auto y = unique(floats({2, 3}, {2, 1, 1, 3, 4, 3}), {}, symbolic);
    EXPECT_EQ(y[0], (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(y[1], (std::vector<double>{1, 0, 3, 4}));
    EXPECT_EQ(y[2], (std::vector<double>{1, 0, 0, 2, 3, 2}));
    EXPECT_EQ(y[3], (std::vector<double>{2, 1, 2, 1}));
  }
}

TEST(Unique, KeepsTheOrderOfTheFirstOnes) {
  const auto y = unique(floats({6}, {2, 1, 1, 3, 4, 3}), {{"sorted", int64_t{0}}});
  EXPECT_EQ(y[0], (std::vector<double>{2, 1, 3, 4}));
  EXPECT_EQ(y[1], (std::vector<double>{0, 1, 3, 4}));
  EXPECT_EQ(y[2], (std::vector<double>{0, 1, 1, 2, 3, 2}));
}

/// ONNX Runtime's operator of this name has no places of the first ones.
TEST(Unique, OfOnnxRuntimeGivesValuesGroupsAndSizes) {
  const auto y = run_node({.op = "Unique", .outputs = 3, .domain = "com.microsoft"},
                          {floats({6}, {2, 1, 1, 3, 4, 3})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{2, 1, 3, 4}));
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(numbers(y[2]), (std::vector<double>{1, 2, 2, 1}));
}

TEST(Unique, ComparesSlicesOfAnAxis) {
  const auto y = unique(floats({3, 2}, {1, 0, 0, 5, 1, 0}), {{"axis", int64_t{0}}});
  EXPECT_EQ(y[0], (std::vector<double>{0, 5, 1, 0}));
  EXPECT_EQ(y[1], (std::vector<double>{1, 0}));
  EXPECT_EQ(y[2], (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(y[3], (std::vector<double>{1, 2}));
}

TEST(Unique, TakesNothing) { EXPECT_EQ(unique(floats({0}, {}), {}, true)[0].size(), 0U); }

}  // namespace
}  // namespace tilewright::ops
