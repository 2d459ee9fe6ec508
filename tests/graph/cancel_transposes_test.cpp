// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct CancelTransposes : testing::Test {
  Net g;
  std::mt19937 random{5};

  ValueId transpose(ValueId x, Ints axes) {
    return g("transpose", {x}, {{"axes", std::move(axes)}});
  }
  ValueId numbers(const Ints& shape) { return g.constant(random_constant(random, shape)); }
  std::string after() {
    const Graph before = g.take();
    PassContext context = test_context();
    Graph graph = cancel_transposes(before, context);
    verify(graph);
    graph = remove_dead(simplify_algebra(std::move(graph), context), context);
    verify_types(graph);
    expect_equal(before, graph, 0);
    return kernels(graph.main(), graph);
  }
};

TEST_F(CancelTransposes, LetsElementsBeComputedInTheOtherOrder) {
  const ValueId x = transpose(g.in("x", dims({2, 4, 3, 5})), {0, 2, 3, 1});
  const ValueId y =
      g("relu", {g("mul", {g("add", {x, numbers({4})}), g.scalar(ir::Elem::F32, 2)})});
  g.output(transpose(y, {0, 3, 1, 2}));
  EXPECT_EQ(after(), "add -> %add_1\nmul -> %mul_1\nrelu -> %relu_1\n");
}

TEST_F(CancelTransposes, JoinsTwoOperandsOfOneOrder) {
  const ValueId a = transpose(g.in("a", dims({2, 3})), {1, 0});
  const ValueId b = transpose(g.in("b", dims({2, 3})), {1, 0});
  g.output(g("add", {a, b}));
  EXPECT_EQ(after(), "add -> %add_1\ntranspose -> %add\n");
}

TEST_F(CancelTransposes, LeavesWhatWouldNeedAsManyTransposes) {
  const ValueId a = transpose(g.in("a", dims({2, 3})), {1, 0});
  g.output(g("add", {a, g.in("b", dims({3, 2}))}));
  EXPECT_EQ(after(), "transpose -> %transpose\nadd -> %add\n");
}

TEST_F(CancelTransposes, PermutesASharedConstantForEachOrder) {
  const ValueId c = numbers({2, 2, 2});
  for (const Ints& order : {Ints{1, 2, 0}, Ints{2, 0, 1}}) {
    Ints back(3);
    for (size_t d = 0; d < 3; ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
    const ValueId x = transpose(g.in("x", dims({2, 2, 2})), order);
    g.output(transpose(g("add", {x, c}), back));
  }
  EXPECT_EQ(after(), "add -> %add_1_1\nadd -> %add_2\n");
}

TEST_F(CancelTransposes, StopsAtOperatorsThatLookAtDimensions) {
  const ValueId x = transpose(g.in("x", dims({2, 3})), {1, 0});
  g.output(transpose(g("softmax", {x}), {1, 0}));
  EXPECT_EQ(after(), "transpose -> %transpose\nsoftmax -> %softmax\ntranspose -> %transpose_1\n");
}

TEST_F(CancelTransposes, GivesTransposesToProducts) {
  const ValueId q = transpose(g.in("q", dims({2, 3, 4, 5})), {0, 2, 1, 3});
  const ValueId k = transpose(g.in("k", dims({2, 3, 4, 5})), {0, 2, 3, 1});
  g.output(g("matmul", {q, k}));
  EXPECT_EQ(after(), "transpose -> %transpose\ntranspose -> %transpose_1_1\nmatmul -> %matmul\n");
}

TEST_F(CancelTransposes, DropsATransposeThatAProductCanMake) {
  const ValueId a = transpose(g.in("a", dims({5, 3})), {1, 0});
  g.output(g("matmul", {a, transpose(g.in("b", dims({4, 5})), {1, 0})}));
  EXPECT_EQ(after(), "matmul -> %matmul\n");
}

}  // namespace
}  // namespace tilewright::graph
