// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace tilewright::graph {
namespace {

TEST(Builder, RefusesADimensionThatDoublesWithoutEnd) {
  Net g;
  ValueId x = g.in("x", {g.symbol("n")});
  try {
    for (int i = 0; i < 1500; ++i) x = g("concat", {x, x});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.diagnostic.code, "graph.dim.endless");
  }
}

}  // namespace
}  // namespace tilewright::graph
