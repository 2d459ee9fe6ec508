// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

/// Six heads of queries and two of keys, over 7 rows of 4.
struct ShareHeads : testing::Test {
  Net g;
  ValueId q = g.in("q", dims({3, 6, 5, 4})), k = g.in("k", dims({3, 2, 7, 4}));

  ValueId reshape(ValueId x, const Ints& shape) { return g("reshape", {x, g.ints(shape)}); }
  ValueId repeated(ValueId x, const Ints& one = {3, 2, 1, 7, 4},
                   const Ints& all = {3, 2, 3, 7, 4}) {
    return g("expand", {reshape(x, one), g.ints(all)});
  }
  ValueId turned(ValueId x, const Ints& axes) { return g("transpose", {x}, {{"axes", axes}}); }

  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = before;
    for (const auto pass : {share_heads, remove_dead}) graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_equal(before, graph, 0);
    return kernels(graph.main(), graph);
  }
};

TEST_F(ShareHeads, OfKeysThatAreTurned) {
  g.output(g("matmul", {q, turned(reshape(repeated(k), {3, 6, 7, 4}), {0, 1, 3, 2})}));
  const std::string left = after();
  EXPECT_NE(left.find("repeat"), std::string::npos) << left;
  EXPECT_EQ(left.find("expand"), std::string::npos) << left;
  EXPECT_EQ(left.find("transpose"), std::string::npos) << left;
}

TEST_F(ShareHeads, ThroughViewsThatJoinBatchAndHeads) {
  const ValueId flat = turned(reshape(repeated(k), {18, 7, 4}), {0, 2, 1});
  g.output(g("matmul", {q, reshape(flat, {3, 6, 4, 7})}));
  EXPECT_EQ(after().find("expand"), std::string::npos);
}

TEST_F(ShareHeads, OfValues) {
  const ValueId scores = g.in("s", dims({3, 6, 5, 7}));
  g.output(g("matmul", {scores, reshape(repeated(k), {3, 6, 7, 4})}));
  EXPECT_EQ(after().find("expand"), std::string::npos);
}

TEST_F(ShareHeads, NotWhereHeadsAlternate) {
  // Head h reads key h % 2, not h / 3.
  const ValueId all = repeated(k, {3, 1, 2, 7, 4}, {3, 3, 2, 7, 4});
  g.output(g("matmul", {q, turned(reshape(all, {3, 6, 7, 4}), {0, 1, 3, 2})}));
  EXPECT_NE(after().find("expand"), std::string::npos);
}

TEST_F(ShareHeads, NotWhereRowsAreTurnedIntoHeads) {
  const ValueId other = g.in("other", dims({3, 7, 5, 6}));
  const ValueId all = turned(reshape(repeated(k), {3, 6, 7, 4}), {0, 2, 1, 3});  // [3, 7, 6, 4]
  g.output(g("matmul", {other, all}));
  EXPECT_NE(after().find("expand"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::graph
