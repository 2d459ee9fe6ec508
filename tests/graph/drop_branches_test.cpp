// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graphs.h"
#include "ops/control.h"

namespace tilewright::graph {
namespace {

/// if(c) {neg} else {exp}, the second with a check.
Graph choice(const ir::Expr& condition) {
  Net g;
  const ValueId c = g.in("c", {}, ir::Elem::Bool), x = g.in("x", {g.symbol("n"), Dim(4)});
  std::vector<Function> bodies;
  for (const char* op : {"neg", "exp"}) {
    g.begin_body(op);
    bodies.push_back(g.end_body({g(op, {x})}));
  }
  bodies[1].checks.push_back({condition, "why", {}});
  g.output(g.calls(ops::if_op(), {}, {c}, 1, std::move(bodies))[0]);
  PassContext context = test_context();
  Graph graph = drop_branches(g.take(), context);
  verify(graph);
  return graph;
}

TEST(DropBranches, EmptiesTheOneThatNoRunCanTake) {
  const Graph graph = choice(false);
  const Node& node = graph.main().nodes.at(0);
  EXPECT_EQ(node.bodies[0].nodes.size(), 1u);
  EXPECT_TRUE(node.bodies[1].nodes.empty());
  ASSERT_EQ(node.bodies[1].checks.size(), 1u);
  EXPECT_EQ(node.bodies[1].checks[0].message, "why");
  EXPECT_EQ(print(graph.type(node.bodies[1].outputs[0])), "f32[0, 4]");
}

TEST(DropBranches, LeavesOneThatARunMayTake) {
  const ir::Var n("n");
  EXPECT_EQ(choice(true).main().nodes.at(0).bodies[1].nodes.size(), 1u);
}

}  // namespace
}  // namespace tilewright::graph
