// SPDX-License-Identifier: Apache-2.0
// Products of one value as one, and parts of values as indices.
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct MergeProducts : testing::Test {
  Net g;
  std::mt19937 random{5};
  ValueId x = g.in("x", dims({2, 5, 6}));

  ValueId random_weights(const Ints& shape) { return g.constant(random_constant(random, shape)); }
  ValueId heads(ValueId y, Ints shape = {2, 5, 4, 2}) { return g("reshape", {y, g.ints(shape)}); }
  ValueId product(const AttrList& attrs = {}) {
    return g("matmul", {x, random_weights({6, 8}), random_weights({8})}, attrs);
  }
  /// Merges, compares the numbers, and gives what is left.
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = before;
    for (const auto pass : {merge_products, index_parts, eliminate_common, remove_dead})
      graph = pass(std::move(graph), context);
    verify(graph);
    verify_types(graph);
    expect_equal(before, graph, 0);
    return kernels(graph.main(), graph);
  }
};

TEST_F(MergeProducts, MakesOneOfQueriesKeysAndValues) {
  for (int i = 0; i < 3; ++i) g.output(heads(product()));
  EXPECT_EQ(after(),
            "matmul -> %matmul_1_1\nreshape -> %reshape_1_1\nreshape -> %reshape_1_1_1\n"
            "select -> %reshape\nselect -> %reshape_1\nselect -> %reshape_2\n");
}

TEST_F(MergeProducts, StacksTransposedWeights) {
  for (int i = 0; i < 2; ++i)
    g.output(heads(g("matmul", {x, random_weights({8, 6})}, {{"trans_b", int64_t{1}}})));
  const std::string left = after();
  EXPECT_EQ(left.find("matmul"), 0u);
  EXPECT_EQ(left.find("\nmatmul"), std::string::npos);
  EXPECT_NE(left.find("select -> %reshape\nselect -> %reshape_1\n"), std::string::npos);
}

TEST_F(MergeProducts, LeavesProductsThatDiffer) {
  g.output(heads(product()));
  g.output(heads(product({{"alpha", 1.0000001}})));
  g.output(heads(g("matmul", {x, random_weights({6, 4})}), {2, 5, 2, 2}));
  g.output(heads(g("matmul", {g.in("y", dims({2, 5, 6})), random_weights({6, 8})})));
  EXPECT_EQ(after().find("select"), std::string::npos);
}

TEST_F(MergeProducts, LeavesProductsThatAreNotCutIntoHeads) {
  g.output(product());
  g.output(g("relu", {product()}));
  EXPECT_EQ(after(), "matmul -> %matmul\nmatmul -> %matmul_1\nrelu -> %relu\n");
}

TEST_F(MergeProducts, LeavesAProductThatOthersRead) {
  const ValueId y = product();
  g.output(heads(y));
  g.output(heads(product()));
  g.output(y);
  EXPECT_EQ(after().find("select"), std::string::npos);
}

TEST_F(MergeProducts, IndexesEqualSlices) {
  const ValueId y = g.in("y", dims({2, 5, 24}));
  const auto slice = [&](int64_t from, int64_t to) {
    return g("slice", {y, g.ints({from}), g.ints({to}), g.ints({-1})});
  };
  g.output(heads(slice(8, 16)));
  g.output(heads(slice(-8, 1000)));
  EXPECT_EQ(after(), "reshape -> %reshape_1_1\nselect -> %reshape\nselect -> %reshape_1\n");
}

TEST_F(MergeProducts, LeavesSlicesBetweenTheParts) {
  const ValueId y = g.in("y", dims({2, 5, 24}));
  g.output(heads(g("slice", {y, g.ints({4}), g.ints({12}), g.ints({2})})));
  EXPECT_EQ(after(), "slice -> %slice\nreshape -> %reshape\n");
}

TEST_F(MergeProducts, LeavesSlicesOfOtherDimensions) {
  const ValueId y = g.in("y", dims({4, 5, 8}));
  g.output(heads(g("slice", {y, g.ints({2}), g.ints({4}), g.ints({0})})));
  EXPECT_EQ(after(), "slice -> %slice\nreshape -> %reshape\n");
}

}  // namespace
}  // namespace tilewright::graph
