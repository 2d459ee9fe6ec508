// SPDX-License-Identifier: Apache-2.0
#include "ops/run_node.h"

namespace tilewright::ops {
namespace {

TEST(NonZero, ListsIndicesDimensionByDimension) {
  for (const bool symbolic : {false, true}) {
    const auto y =
        run_node({.op = "NonZero", .symbolic = symbolic}, {floats({2, 3}, {0, 1, 2, 0, 0, -3})});
    EXPECT_EQ(y[0]->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(numbers(y[0]), (std::vector<double>{0, 0, 1, 1, 2, 2}));
  }
}

TEST(NonZero, MayFindNothing) {
  EXPECT_EQ(run_node({.op = "NonZero"}, {floats({2}, {0, 0})})[0]->shape,
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(run_node({.op = "NonZero", .symbolic = true}, {floats({0, 3}, {})})[0]->shape,
            (std::vector<int64_t>{2, 0}));
}

}  // namespace
}  // namespace tilewright::ops
