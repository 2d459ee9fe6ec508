// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graphs.h"

namespace tilewright::graph {
namespace {

Graph cleaned(Graph graph) {
  PassContext context = test_context();
  graph = remove_dead(std::move(graph), context);
  verify_types(graph);
  return graph;
}

TEST(RemoveDead, DropsWhatNobodyReads) {
  Net g;
  const ValueId x = g.in("x", dims({4}));
  g("neg", {g("exp", {x})});
  g.output(g("relu", {x}));
  const Graph after = cleaned(g.take());
  EXPECT_EQ(kernels(after.main(), after), "relu -> %relu\n");
}

TEST(RemoveDead, KeepsWhatSizesAreReadFrom) {
  Net g;
  const ValueId n = g.in("n", dims({1}), ir::Elem::I64);
  const ValueId twice = g("add", {n, n});
  g.output(g("reshape", {g.in("x", dims({4, 6})), twice}));
  const Graph after = cleaned(g.take());
  EXPECT_EQ(kernels(after.main(), after), "add -> %add\nreshape -> %reshape\n");
}

}  // namespace
}  // namespace tilewright::graph
