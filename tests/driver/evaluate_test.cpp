// SPDX-License-Identifier: Apache-2.0
#include "driver/evaluate.h"

#include <gtest/gtest.h>

#include "graph/graphs.h"
#include "target/host.h"

namespace tilewright::driver {
namespace {

/// How often the only node of the graph is evaluated before the evaluator declines; at most 200.
int times(Evaluator evaluate, const graph::Graph& graph) {
  for (int i = 0; i < 200; ++i)
    if (evaluate(graph, graph.main().nodes.at(0)).empty()) return i;
  return 200;
}

Evaluator evaluator(int64_t constant_bytes = 0) {
  return Evaluator(target::parse_target("host"), nullptr, constant_bytes);
}

TEST(Evaluate, DeclinesWhenItsTimeIsUp) {
  graph::Net g;
  const graph::ValueId w = g.weights({256, 256});
  g.output(g("matmul", {w, w}));
  const graph::Graph graph = g.take();
  const int few = times(evaluator(), graph);
  EXPECT_GT(few, 10);
  EXPECT_LT(few, 200);
  EXPECT_GT(times(evaluator(10 << 20), graph), few);  // more for a model with more constants
}

TEST(Evaluate, DeclinesWhenItsMemoryIsUp) {
  graph::Net g;
  g.output(g("neg", {g.weights({1 << 20})}));  // 4 MiB
  EXPECT_EQ(times(evaluator(), g.take()), 64);
}

}  // namespace
}  // namespace tilewright::driver
