// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "common/errors.h"
#include "graphs.h"

namespace tilewright::graph {
namespace {

/// Doubles integers and negates floats, whatever the operator: enough to see what was evaluated.
std::vector<Constant> stand_in(const Graph& graph, const Node& n) {
  const ConstantNode& c = *graph.value(n.inputs[0]).constant;
  if (n.op->name == "sqrt") return {};  // declines
  if (ir::is_float(c.elem)) {
    std::vector<double> v = numbers_of(c);
    for (double& x : v) x = -x;
    return {float_constant(c.elem, c.shape, v)};
  }
  std::vector<int64_t> v = ints_of(c);
  for (int64_t& x : v) x *= 2;
  return {int_constant(c.elem, c.shape, v)};
}

Graph folded(Graph graph) {
  PassContext context = test_context();
  context.services.evaluate = stand_in;
  graph = fold_constants(std::move(graph), context);
  verify(graph);
  return remove_dead(std::move(graph), context);
}

TEST(FoldConstants, EvaluatesChainsOfConstants) {
  Net g;
  const ValueId w = g("neg", {g("neg", {g.weights({4}, 3)})});
  g.output(g("add", {g.in("x", dims({4})), w}));
  const Graph after = folded(g.take());
  EXPECT_EQ(kernels(after.main(), after), "add -> %add\n");
  EXPECT_EQ(number_at(*after.value(w).constant, 0), 3);
}

TEST(FoldConstants, ViewsAConstantWithoutACopy) {
  Net g;
  const ValueId w = g.weights({4, 2});
  const ValueId v = g("reshape", {w, g.ints({8})});
  g.output(g("add", {g.in("x", dims({8})), v}));
  const Graph after = folded(g.take());
  ASSERT_TRUE(after.value(v).constant);
  EXPECT_EQ(after.value(v).constant->bytes.data(), after.value(w).constant->bytes.data());
}

TEST(FoldConstants, LeavesWhatTheServiceDeclines) {
  Net g;
  g.output(g("add", {g.in("x", dims({4})), g("sqrt", {g.weights({4})})}));
  const Graph after = folded(g.take());
  EXPECT_EQ(kernels(after.main(), after), "sqrt -> %sqrt\nadd -> %add\n");
}

TEST(FoldConstants, DoesNotBlowUpSmallConstants) {
  Net g;
  const ValueId big = g("expand", {g.weights({1}), g.ints({1 << 20})});
  g.output(g("add", {g.in("x", dims({1 << 20})), big}));
  const Graph after = folded(g.take());
  EXPECT_EQ(kernels(after.main(), after), "expand -> %expand\nadd -> %add\n");
}

TEST(FoldConstants, MakesConstantsOfSizesReadFromFoldedValues) {
  Net g;
  const ValueId x = g.in("x", dims({2, 12}));
  // `scatter_elements` tells nothing of its elements, so that the shape is known only now.
  const ValueId zeros = g.ints({2, 3}), at = g.ints({0, 1});
  const ValueId shape = g("scatter_elements", {zeros, at, zeros});
  const ValueId y = g("reshape", {x, shape});
  g.output(y);
  ASSERT_FALSE(const_dims(g.tensor(y).shape));
  const Graph after = folded(g.take());
  EXPECT_EQ(print(after.type(y)), "f32[4, 6]");
}

TEST(FoldConstants, RefusesChecksThatCannotHold) {
  Net g;
  const ValueId x = g.in("x", dims({2, 12}));
  const ValueId zeros = g.ints({5, 5}), at = g.ints({0, 1});
  g.output(g("reshape", {x, g("scatter_elements", {zeros, at, zeros})}));
  EXPECT_EQ(diagnostic_of([&] { folded(g.take()); }).code, "graph.check.false");
}

}  // namespace
}  // namespace tilewright::graph
