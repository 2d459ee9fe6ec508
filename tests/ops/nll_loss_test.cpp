// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

using Numbers = std::vector<double>;

TEST(NegativeLogLikelihoodLoss, LeavesOutIgnoredTargets) {
  const auto y =
      run_node({.op = "NegativeLogLikelihoodLoss", .attributes = {{"ignore_index", int64_t{-1}}}},
               {floats({3, 2}, {-1, -2, -3, -4, -5, -6}), ints({3}, {1, -1, 0})});
  EXPECT_EQ(numbers(y[0]), (Numbers{3.5}));
}

}  // namespace
}  // namespace tilewright::ops
