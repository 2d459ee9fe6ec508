// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TEST(ScatterElements, PutsUpdatesInOrderAndCountsFromTheEnd) {
  const auto data = floats({2, 3}, {0, 0, 0, 0, 0, 0});
  const auto y = run_node({.op = "ScatterElements", .attributes = {{"axis", int64_t{1}}}},
                          {data, ints({1, 3}, {1, 1, -1}), floats({1, 3}, {1, 2, 3})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{0, 2, 3, 0, 0, 0}));
}

TEST(ScatterElements, CombinesWhatMeets) {
  const auto run = [](std::string_view how) {
    return numbers(
        run_node({.op = "ScatterElements",
                  .attributes = {{"reduction", std::string(how)}},
                  .symbolic = true},
                 {floats({2}, {5, 6}), ints({3}, {0, 0, 1}), floats({3}, {2, 3, 7})})[0]);
  };
  EXPECT_EQ(run("add"), (std::vector<double>{10, 13}));
  EXPECT_EQ(run("mul"), (std::vector<double>{30, 42}));
  EXPECT_EQ(run("min"), (std::vector<double>{2, 6}));
  EXPECT_EQ(run("max"), (std::vector<double>{5, 7}));
}

TEST(ScatterElements, RefusesConstantIndicesOutOfRange) {
  const Diagnostic e = diagnostic_of([] {
    run_node({.op = "ScatterElements", .constants = {1}},
             {floats({2}, {5, 6}), ints({1}, {2}), floats({1}, {2})});
  });
  EXPECT_EQ(e.code, "ops.scatter.index");
}

TEST(ScatterNd, ReplacesSlices) {
  const auto y = run_node(
      {.op = "ScatterND"},
      {floats({3, 2}, {1, 2, 3, 4, 5, 6}), ints({2, 1}, {2, -3}), floats({2, 2}, {7, 8, 9, 10})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{9, 10, 3, 4, 7, 8}));
}

TEST(ScatterNd, KeepsTheOrderOfUpdatesOfOneSlice) {
  const auto y = run_node({.op = "ScatterND", .symbolic = false},
                          {floats({2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}),
                           ints({3, 2}, {1, 0, 0, 1, 1, 0}), floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{0, 0, 3, 4, 5, 6, 0, 0}));
}

TEST(ScatterNd, AddsSingleElementsThatMeet) {
  const auto y = run_node(
      {.op = "ScatterND", .attributes = {{"reduction", std::string("add")}}},
      {floats({2, 2}, {1, 2, 3, 4}), ints({3, 2}, {0, 1, 1, 0, 0, 1}), floats({3}, {10, 20, 30})});
  EXPECT_EQ(numbers(y[0]), (std::vector<double>{1, 42, 23, 4}));
}

TEST(TensorScatter, WritesFromAnIndexOfEachBatch) {
  const auto run = [](std::string_view mode) {
    return numbers(
        run_node({.op = "TensorScatter", .opset = 24, .attributes = {{"mode", std::string(mode)}}},
                 {floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), floats({2, 2, 1}, {7, 8, 9, 10}),
                  ints({2}, {1, 2})})[0]);
  };
  EXPECT_EQ(run("circular"), (std::vector<double>{1, 7, 8, 10, 5, 9}));
}

}  // namespace
}  // namespace tilewright::ops
