// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "support/diagnostic.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

Dim add_symbol(Graph& graph, decltype(SymbolInfo::source) source) {
  const SymbolInfo info{
      .symbol = {.var = ir::Var(str("d", graph.symbols.size())), .min = 0, .max = 100},
      .source = std::move(source),
      .origin = {}};
  graph.symbols.push_back(info);
  return info.symbol.var;
}

void set_shape(Graph& graph, ValueId id, const Dim& dim) {
  graph.value(id).type = TensorType{.shape = {dim}};
}

TEST(Verify, AFormulaOfFormulasIsLookedAtOnce) {
  Net g;
  const Dim n = g.symbol("n");
  const ValueId y = g("neg", {g.in("x", {n})});
  g.output(y);
  Graph graph = g.take();
  Dim before = n, last = n;
  for (int i = 0; i < 20'000; ++i)  // as many ways to the first one as the Fibonacci numbers say
    before = std::exchange(last, add_symbol(graph, FromFormula{before + last}));
  set_shape(graph, y, last);
  verify(graph);
}

/// %y: f32[n] = if(%c) {%v = neg(%x), %w: f32[v's first element + 1] = neg(%x)}, %z = neg(%y)
struct Branch {
  Branch() {
    Net g;
    const ValueId x = g.in("x", {g.symbol("n")}), c = g.in("c", {}, ir::Elem::Bool);
    g.begin_body("then");
    v = g("neg", {x});
    w = g("neg", {x});
    std::vector<Function> bodies;
    bodies.push_back(g.end_body({w}));
    g.begin_body("else");
    bodies.push_back(g.end_body({x}));
    y = g.calls(ops::op("if"), {}, {c}, 1, std::move(bodies))[0];
    z = g("neg", {y});
    g.output(z);
    graph = g.take();
    size = add_symbol(graph, FromFormula{add_symbol(graph, FromElement{v, 0}) + 1});
    set_shape(graph, w, size);
  }
  Graph graph;
  ValueId v, w, y, z;
  Dim size;
};

TEST(Verify, ASizeIsKnownInsideOfTheBodyThatMakesIt) { verify(Branch().graph); }

TEST(Verify, ASizeIsNotKnownAfterTheBodyThatMakesIt) {
  Branch b;
  set_shape(b.graph, b.z, b.size);
  EXPECT_THROW(verify(b.graph), InternalError);
}

TEST(Verify, ASizeIsNotKnownBeforeWhatItIsReadFrom) {
  Net g;
  const ValueId a = g("neg", {g.in("x", {g.symbol("n")})}), b = g("neg", {a});
  g.output(b);
  Graph graph = g.take();
  const Dim size = add_symbol(graph, FromFormula{add_symbol(graph, FromElement{a, 0}) + 1});
  set_shape(graph, b, size);
  verify(graph);
  std::swap(graph.main().nodes[0], graph.main().nodes[1]);
  graph.main().nodes[0].inputs = graph.main().inputs;
  EXPECT_THROW(verify(graph), InternalError);
}

}  // namespace
}  // namespace tilewright::graph
