// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TEST(TopK, GivesTheGreatestFirstAndOfEqualOnesTheFirst) {
  const auto x = floats({2, 5}, {3, 1, 3, 5, 2, 0, 0, 0, -1, 0});
  for (const bool symbolic : {false, true}) {
    const auto y =
        run_node({.op = "TopK", .outputs = 2, .symbolic = symbolic}, {x, ints({1}, {3})});
    EXPECT_EQ(y[0]->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(numbers(y[0]), (std::vector<double>{5, 3, 3, 0, 0, 0}));
    EXPECT_EQ(numbers(y[1]), (std::vector<double>{3, 0, 2, 0, 1, 2}));
  }
}

TEST(TopK, GivesTheLeastAlongAnAxisInside) {
  const auto x = floats({3, 2}, {3, 1, 2, 5, 1, 0});
  const auto y = run_node({.op = "TopK",
                           .opset = 11,
                           .attributes = {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
                           .outputs = 2},
                          {x, ints({1}, {2})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{1, 0, 2, 1}));
  EXPECT_EQ(numbers(y[1]), (std::vector<double>{2, 2, 1, 0}));
}

TEST(TopK, AgreesWithASortForEveryK) {
  std::mt19937 random(7);
  for (const int64_t n : {1, 2, 7, 16, 33, 300, 1000})
    for (const int64_t k : {int64_t{0}, int64_t{1}, n / 9, n / 2, n}) {
      std::vector<double> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(random() % 90));
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
      });
      order.resize(static_cast<size_t>(k));
      for (const bool known : {false, true}) {
        TestNode node{.op = "TopK", .outputs = 2};
        if (known) node.constants = {1};
        const auto y = run_node(node, {floats({n}, values), ints({1}, {k})});
        EXPECT_EQ(graph::ints_of(*y[1]), order) << n << " " << k;
      }
    }
}

TEST(TopK, TakesKFromAnAttributeInOldModels) {
  const auto y =
      run_node({.op = "TopK", .opset = 9, .attributes = {{"k", int64_t{1}}}, .outputs = 2},
               {floats({3}, {1, 4, 2})});
  EXPECT_EQ(numbers(y[1]), std::vector<double>{1});
}

TEST(TopK, RefusesMoreThanThereIs) {
  const Diagnostic e = diagnostic_of([] {
    run_node({.op = "TopK", .outputs = 2, .constants = {1}}, {floats({2}, {1, 2}), ints({1}, {3})});
  });
  EXPECT_EQ(e.code, "graph.shape.mismatch");
  const Diagnostic late = diagnostic_of(
      [] { run_node({.op = "TopK", .outputs = 2}, {floats({2}, {1, 2}), ints({1}, {3})}); });
  EXPECT_EQ(late.code, "driver.run.check");
}

}  // namespace
}  // namespace tilewright::ops
