// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

const graph::Constant kBoxes = floats({1, 6, 4}, {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                                  0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101});
const graph::Constant kScores = floats({1, 1, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3});

std::vector<double> run(int64_t most, double score, bool symbolic) {
  const auto y =
      run_node({.op = "NonMaxSuppression", .symbolic = symbolic},
               {kBoxes, kScores, ints({1}, {most}), floats({1}, {0.5}), floats({1}, {score})});
  return numbers(y[0]);
}

TEST(NonMaxSuppression, KeepsTheBestOfThoseThatOverlap) {
  for (const bool symbolic : {false, true}) {
    EXPECT_EQ(run(9, 0, symbolic), (std::vector<double>{0, 0, 3, 0, 0, 0, 0, 0, 5}));
    EXPECT_EQ(run(2, 0, symbolic), (std::vector<double>{0, 0, 3, 0, 0, 0}));
    EXPECT_EQ(run(9, 0.4, symbolic), (std::vector<double>{0, 0, 3, 0, 0, 0}));
    EXPECT_EQ(run(0, 0, symbolic), std::vector<double>{});
  }
}

}  // namespace
}  // namespace tilewright::ops
