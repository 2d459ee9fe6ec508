// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "run_graph.h"

namespace tilewright::graph {
namespace {

using Ints = std::vector<int64_t>;

struct CheckIndices : testing::Test {
  Net g;
  ValueId x = g.in("x", dims({5, 7, 3}));

  ValueId ints_in(const std::string& name, const Ints& shape, ir::Elem elem = ir::Elem::I64) {
    return g.in(name, dims(shape), elem);
  }
  Graph after() {
    PassContext context = test_context();
    Graph graph = check_indices(g.take(), context);
    verify(graph);
    verify_types(graph);
    return graph;
  }
  static std::string ops_of(const Graph& graph) {
    std::string out;
    for (const Node& n : graph.main().nodes) out += str(out.empty() ? "" : " ", n.op->name);
    return out;
  }
  /// The extents that the checks compare with.
  static std::vector<Ints> extents_of(const Graph& graph) {
    std::vector<Ints> out;
    for (const Node& n : graph.main().nodes)
      if (n.op->name == "check_indices") out.push_back(ints_of(*graph.value(n.inputs[1]).constant));
    return out;
  }
};

TEST_F(CheckIndices, ComparesWithTheAxis) {
  g.output(g("gather", {x, ints_in("i", {2, 2})}, {{"axis", int64_t{1}}}));
  const Graph graph = after();
  EXPECT_EQ(ops_of(graph), "check_indices gather");
  EXPECT_EQ(extents_of(graph), (std::vector<Ints>{{7}}));
}

TEST_F(CheckIndices, ComparesEachPlaceOfATuple) {
  g.output(g("gather_nd", {x, ints_in("i", {4, 2})}));
  g.output(g("gather_nd", {x, ints_in("j", {5, 1})}, {{"batch_dims", int64_t{1}}}));
  g.output(g("scatter_nd", {x, ints_in("k", {4, 3}), g.in("u", dims({4}))}));
  const Graph graph = after();
  EXPECT_EQ(ops_of(graph),
            "check_indices gather_nd check_indices gather_nd check_indices scatter_nd");
  EXPECT_EQ(extents_of(graph), (std::vector<Ints>{{5, 7}, {7}, {5, 7, 3}}));
}

TEST_F(CheckIndices, LooksWhereIndicesComeFrom) {
  const ValueId narrow = ints_in("i", {4}, ir::Elem::I32);
  const ValueId wide = g("cast", {narrow}, {{"to", static_cast<int64_t>(ir::Elem::I64)}});
  const ValueId row = g("unsqueeze", {wide, g.ints({0})});
  g.output(g("gather", {x, row}));
  const Graph graph = after();
  EXPECT_EQ(ops_of(graph), "cast unsqueeze check_indices cast unsqueeze gather");
  EXPECT_EQ(graph.main().nodes[2].inputs[0], narrow);
}

TEST_F(CheckIndices, LeavesConstantsInRangeAlone) {
  g.output(g("gather", {x, g.ints({0, -5, 4})}));
  g.output(g("gather", {x, g.ints({})}));
  EXPECT_EQ(ops_of(after()), "gather gather");
}

TEST_F(CheckIndices, LetsTheRunRefuseConstantsOutOfRange) {
  g.output(g("gather", {x, g.ints({0, 5})}));
  g.output(g("gather", {x, g.ints({-6})}));
  EXPECT_EQ(ops_of(after()), "check_indices gather check_indices gather");
}

TEST_F(CheckIndices, ChecksFormulasWithoutAKernel) {
  const Dim n = g.symbol("n", 1, 100);
  const ValueId sized = g.in("sized", {n});
  g.output(g("gather", {x, g("sub", {g("shape", {sized}), g.ints({1})})}));
  const Graph graph = after();
  EXPECT_EQ(ops_of(graph).find("check_indices"), std::string::npos);
  ASSERT_EQ(graph.checks.size(), 1u);
  EXPECT_NE(graph.checks[0].message.find("is out of range: the dimension has 5 elements"),
            std::string::npos)
      << graph.checks[0].message;
}

TEST_F(CheckIndices, WrongOnesAreNotFoldedAway) {
  const ValueId table = g.constant(float_constant(ir::Elem::F32, {3}, {1, 2, 3}));
  g.output(g("gather_elements", {table, g.ints({0, 3})}));
  g.output(g("gather_elements", {table, g.ints({0, -3})}));
  PassContext context = test_context();
  context.services.evaluate = evaluate;
  const Graph graph = fold_constants(g.take(), context);
  EXPECT_FALSE(graph.value(graph.main().outputs[0]).constant);
  EXPECT_TRUE(graph.value(graph.main().outputs[1]).constant);
}

}  // namespace
}  // namespace tilewright::graph
