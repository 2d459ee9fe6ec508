// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(MaxPool, GivesThePlacesOfTheMaxima) {
  const auto x = floats({1, 1, 2, 3}, {1, 5, 5, 7, 2, 0});
  const auto run = [&](int64_t order) {
    return run_node({.op = "MaxPool",
                     .attributes = {{"kernel_shape", Ints{2, 2}}, {"storage_order", order}},
                     .outputs = 2},
                    {x});
  };
  EXPECT_EQ(numbers(run(0)[0]), (Numbers{7, 5}));
  EXPECT_EQ(numbers(run(0)[1]), (Numbers{3, 1}));
  EXPECT_EQ(numbers(run(1)[1]), (Numbers{1, 2}));
}

TEST(MaxPool, PadsDoNotCount) {
  const auto y = run_node({.op = "MaxPool",
                           .attributes = {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}},
                           .symbolic = true},
                          {floats({1, 1, 3}, {-3, -2, -5})});
  EXPECT_EQ(numbers(y[0]), (Numbers{-2, -2, -2}));
}

TEST(AveragePool, DividesByWhatTheWindowCovers) {
  const auto run = [](int64_t count_pads, int64_t ceil) {
    return numbers(run_node({.op = "AveragePool",
                             .opset = 22,
                             .attributes = {{"kernel_shape", Ints{2}},
                                            {"strides", Ints{2}},
                                            {"pads", Ints{1, 0}},
                                            {"count_include_pad", count_pads},
                                            {"ceil_mode", ceil}}},
                            {floats({1, 1, 4}, {2, 4, 6, 8})})[0]);
  };
  EXPECT_EQ(run(0, 0), (Numbers{2, 5}));
  EXPECT_EQ(run(1, 0), (Numbers{1, 5}));
  EXPECT_EQ(run(1, 1), (Numbers{1, 5, 8}));  // the last window has one element
}

TEST(LpPool, RootsTheSumOfPowers) {
  const auto y = run_node({.op = "LpPool", .attributes = {{"kernel_shape", Ints{2}}}},
                          {floats({1, 1, 3}, {-3, 4, 0})});
  EXPECT_EQ(numbers(y[0]), (Numbers{5, 4}));
}

TEST(GlobalAveragePool, ReducesAllButBatchAndChannels) {
  const auto y =
      run_node({.op = "GlobalAveragePool", .symbolic = true}, {floats({1, 2, 2, 1}, {1, 3, 5, 9})});
  EXPECT_EQ(y[0]->shape, (Ints{1, 2, 1, 1}));
  EXPECT_EQ(numbers(y[0]), (Numbers{2, 7}));
}

TEST(MaxUnpool, LeavesOutIndicesThatWereNotPooled) {
  const auto y =
      run_node({.op = "MaxUnpool", .attributes = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}},
               {floats({1, 1, 2}, {5, 6}), ints({1, 1, 2}, {1, 9})});
  EXPECT_EQ(numbers(y[0]), (Numbers{0, 5, 0, 0}));
}

TEST(MaxPool, RefusesAKernelOfAnotherRank) {
  const Diagnostic d = diagnostic_of([] {
    run_node({.op = "MaxPool", .attributes = {{"kernel_shape", Ints{2, 2}}}},
             {floats({1, 1, 3}, {1, 2, 3})});
  });
  EXPECT_EQ(d.code, "ops.attribute.count");
}

}  // namespace
}  // namespace tilewright::ops
