// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <limits>

#include "common/errors.h"
#include "graph/parse.h"
#include "graph/print.h"
#include "graphs.h"

namespace tilewright::graph {
namespace {

/// What is printed reads back as the same graph.
Graph round_trip(const Graph& graph) {
  const std::string text = print(graph, std::numeric_limits<int64_t>::max());
  Graph back = parse(text, ops::find);
  EXPECT_EQ(print(back, std::numeric_limits<int64_t>::max()), text);
  return back;
}

Diagnostic mistake(const std::string& text) {
  return diagnostic_of([&] { parse(text, ops::find); });
}

TEST(GraphText, ReadsAGraph) {
  const std::string text =
      "symbol n in 1..64 div 4 likely [8, 16] = dim(%x, 0)\n"
      "constant %w: f32[4] = [1.0, 2.5, -inf, 0.1]\n"
      "graph main(%x: f32[n, 4]) {\n"
      "  %t: f32[n, 4] = add(%x, %w: const f32[4]) at \"Add \\\"bias\\\" (#3)\"\n"
      "  %y: f32[4, n] = transpose(%t) {axes = [1, 0]}\n"
      "  return %y as \"the result\", %x\n"
      "}\n";
  const Graph graph = parse(text, ops::find);
  EXPECT_EQ(print(graph), text);
  verify_types(graph);
  EXPECT_EQ(graph.symbols[0].symbol.divisor, 4);
  EXPECT_EQ(graph.main().nodes[0].origin.text, "Add \"bias\" (#3)");
  EXPECT_EQ(graph.output_names, (std::vector<std::string>{"the result", "x"}));
}

TEST(GraphText, KeepsDefaultsOfInputs) {
  const std::string text =
      "symbol n in 0..64 = dim(%x, 0)\n"
      "default %x: f32[2] = [1.0, 2.5]\n"
      "graph main(%x: f32[n]) {\n"
      "  %y: f32[n] = relu(%x)\n"
      "  return %y\n"
      "}\n";
  EXPECT_EQ(print(parse(text, ops::find)), text);
  const auto wrong = [&](const std::string& line) {
    return mistake(line + text.substr(text.find("graph")));
  };
  const std::string symbol = text.substr(0, text.find("default"));
  EXPECT_EQ(wrong(symbol + "default %x: i64[2] = [1, 2]\n").code, "graph.text.graph");
  EXPECT_EQ(wrong(symbol + "default %x: f32[] = [1.0]\n").code, "graph.text.graph");
  EXPECT_EQ(wrong(symbol + "default %y: f32[2] = [1.0, 2.0]\n").code, "graph.text.graph");
}

TEST(GraphText, KeepsConstantsOfAllTypes) {
  Net g;
  const auto add = [&](ValueId c) { g.output(g("identity", {c})); };
  add(g.constant(float_constant(ir::Elem::F16, {2, 3}, {0.1, -0.0, 1e-7, 65504, 3, 4})));
  add(g.constant(float_constant(ir::Elem::BF16, {1}, {3.140625})));
  add(g.constant(float_constant(ir::Elem::F64, {}, {0.1})));
  add(g.constant(int_constant(ir::Elem::I8, {3}, {-128, 0, 127})));
  add(g.constant(int_constant(ir::Elem::I4, {3}, {-8, 0, 7})));
  add(g.constant(int_constant(ir::Elem::Bool, {2}, {1, 0})));
  add(g.constant(int_constant(ir::Elem::I64, {0}, {})));
  add(g.constant(string_constant({2}, {"a \"b\"\n", ""})));
  add(g.weights({100, 3}));
  const Graph before = g.take();
  const Graph after = round_trip(before);
  for (size_t i = 0; i < before.main().nodes.size(); ++i) {
    const ConstantNode& a = *before.value(before.main().nodes[i].inputs[0]).constant;
    const ConstantNode& b = *after.value(after.main().nodes[i].inputs[0]).constant;
    EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end()));
    EXPECT_EQ(a.strings, b.strings);
  }
}

TEST(GraphText, KeepsSymbolsChecksAndElements) {
  Net g;
  const Dim n = g.symbol("batch size");
  const ValueId x = g.in("in/put.1", {n, Dim(6)});
  const ValueId shape = g("shape", {x});
  const ValueId k = g.in("k", dims({2}), ir::Elem::I64);
  g.output(g("reshape", {x, shape}));
  g.output(g("reshape", {x, k}));
  const Graph after = round_trip(g.take());
  EXPECT_FALSE(after.checks.empty());
  EXPECT_TRUE(after.value(after.main().nodes[0].outputs[0]).elements);
}

TEST(GraphText, KeepsGroups) {
  Net g;
  const ValueId x = g.in("x", dims({2, 3}));
  g.output(g("relu", {g("add", {x, g.weights({3})})}));
  PassContext context = test_context();
  const Graph after = round_trip(fuse(g.take(), context));
  EXPECT_EQ(kernels(after.main(), after), "add_relu -> %relu\n");
}

TEST(GraphText, KeepsTypesThatAreNoTensors) {
  const std::string text =
      "graph main(%a: seq<f32[?, 2]>, %b: opt<seq<string[*]> >, %c: seq<i64[*], empty>) {\n"
      "  return %a, %b, %c\n"
      "}\n";
  EXPECT_EQ(print(parse(text, ops::find)), text);
}

TEST(GraphText, ElidesLargeConstantsForPeople) {
  Net g;
  std::vector<double> values(100);
  values[1] = 1;
  g.output(g.constant(float_constant(ir::Elem::F32, {100}, values), "w"));
  const std::string text = print(g.take());
  EXPECT_NE(text.find("constant %w: f32[100] = elided"), std::string::npos) << text;
  EXPECT_EQ(mistake(text).code, "graph.text.elided");
}

TEST(GraphText, NamesMistakesAndTheirPlaces) {
  const auto node = [](const std::string& line) {
    return "graph main(%x: f32[4]) {\n  " + line + "\n  return %y\n}\n";
  };
  Diagnostic d = mistake(node("%y: f32[4] = no_such(%x)"));
  EXPECT_EQ(d.code, "graph.text.operator");
  EXPECT_EQ(d.at.line, 2);
  EXPECT_EQ(mistake(node("%y: f32[4] = relu(%z)")).code, "graph.text.value");
  EXPECT_EQ(mistake(node("%y: f32[4] = relu(%y)")).code, "graph.text.graph");
  EXPECT_EQ(mistake(node("%y: f32[4] = softmax(%x) {axes = 1}")).code, "graph.text.attribute");
  EXPECT_EQ(mistake("constant %w: f32[2] = [1.0]\n" + node("%y: f32[4] = relu(%x)")).code,
            "graph.text.constant");
  EXPECT_EQ(mistake("constant %w: f32[9223372036854775807, 9] = splat 1.0\n").code,
            "graph.text.constant");
}

}  // namespace
}  // namespace tilewright::graph
