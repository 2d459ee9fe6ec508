// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "frontend/onnx/encode.h"
#include "graph/op_def.h"

namespace tilewright::frontend::onnx {
namespace {

using graph::Graph;
using Names = std::vector<std::string>;

/// One line for each node: operator, origin.
std::string nodes_of(const Graph& g) {
  std::string out;
  for (const graph::Node& n : g.main().nodes)
    out += std::string(n.op->name) + " " + n.origin.text + "\n";
  return out;
}

Names input_names(const Graph& g) {
  Names out;
  for (const graph::ValueId id : g.main().inputs) out.push_back(g.value(id).name);
  return out;
}

std::string input_type(const Graph& g, size_t i) { return print(g.type(g.main().inputs.at(i))); }

Diagnostic error_of(const Message& m, const ImportOptions& options = {}) {
  return diagnostic_of([&] { import(m, options); });
}

testing::AssertionResult says(const Diagnostic& d, std::string_view code, const Names& words) {
  const std::string text = render(d);
  if (d.code != code) return testing::AssertionFailure() << text;
  for (const std::string& word : words)
    if (text.find(word) == std::string::npos)
      return testing::AssertionFailure() << "no `" << word << "` in " << text;
  return testing::AssertionSuccess();
}

/// y = f(x) for the given nodes.
GraphParts from_x_to_y(std::vector<Message> nodes) {
  return {.nodes = std::move(nodes),
          .inputs = {value_info("x", 1, {"2", "3"})},
          .outputs = {value_info("y")}};
}

TEST(Import, orders_nodes_and_keeps_names) {
  const Graph g = import(model({.nodes = {node("Softmax", {"b"}, {"y"}, {}, "last"),
                                          node("Softmax", {"x"}, {"b"}, {int_attr("axis", 0)})},
                                .inputs = {value_info("x", 1, {"batch", "10"})},
                                .outputs = {value_info("y")}}));
  EXPECT_EQ(nodes_of(g), "softmax Softmax (#1)\nsoftmax Softmax \"last\" (#0)\n");
  EXPECT_EQ(g.output_names, Names{"y"});
  EXPECT_EQ(input_names(g), Names{"x"});
  EXPECT_EQ(g.value(g.main().nodes[0].outputs[0]).name, "b");
  EXPECT_EQ(print(g.type(g.main().outputs.at(0))), "f32[batch, 10]");
}

TEST(Import, keeps_an_order_that_runs) {
  const Graph g =
      import(model(from_x_to_y({node("Relu", {"x"}, {"a"}), node("Neg", {"x"}, {"b"}),
                                node("Abs", {"b"}, {"c"}), node("Add", {"c", "a"}, {"y"})})));
  EXPECT_EQ(nodes_of(g), "relu Relu (#0)\nneg Neg (#1)\nabs Abs (#2)\nadd Add (#3)\n");
}

TEST(Import, refuses_names_that_lead_nowhere) {
  EXPECT_TRUE(says(error_of(model(from_x_to_y({node("Relu", {"z"}, {"y"}, {}, "r")}))),
                   "frontend.onnx.dangling", {"Relu \"r\" (#0)", "`z`"}));
  EXPECT_TRUE(says(error_of(model(from_x_to_y({node("Relu", {"x"}, {"z"})}))),
                   "frontend.onnx.dangling", {"output `y`"}));
  EXPECT_TRUE(says(error_of(model(from_x_to_y({node("Add", {"x", "b"}, {"a"}, {}, "first"),
                                               node("Relu", {"a"}, {"b"}, {}, "second"),
                                               node("Relu", {"b"}, {"y"})}))),
                   "frontend.onnx.cycle", {"first", "second"}));
  EXPECT_TRUE(says(error_of(model(from_x_to_y({node("Relu", {"x"}, {"y"}, {}, "one"),
                                               node("Neg", {"x"}, {"y"}, {}, "two")}))),
                   "frontend.onnx.name_twice", {"one", "two", "`y`"}));
  EXPECT_TRUE(says(error_of(model(from_x_to_y({node("Relu", {"x"}, {"x"})}))),
                   "frontend.onnx.cycle", {"`x`"}));
  EXPECT_TRUE(
      says(error_of(model({.nodes = {node("Constant", {}, {"w"}, {int_attr("value_int", 1)})},
                           .outputs = {value_info("w")},
                           .initializers = {tensor("w", {1}, {1})}})),
           "frontend.onnx.name_twice", {"`w`"}));
  EXPECT_TRUE(
      says(error_of(model({.initializers = {tensor("w", {1}, {1}), tensor("w", {1}, {1})}})),
           "frontend.onnx.name_twice", {"`w`"}));
  EXPECT_TRUE(says(error_of(model(from_x_to_y({node("Relu", {"x"}, {"y", "z"})}))),
                   "frontend.onnx.outputs", {"Relu (#0)", "`z`"}));
}

/// y = x + w, where `w` has a default.
Message with_default(const Message& input, const Message& content) {
  return model({.nodes = {node("Add", {"w", "x"}, {"y"})},
                .inputs = {input, value_info("x", 1, {})},
                .outputs = {value_info("y")},
                .initializers = {content}});
}

TEST(Import, takes_initialisers_that_are_inputs_as_defaults) {
  const Graph g = import(with_default(value_info("w", 1, {"n", "2"}), tensor("w", {1, 2}, {3, 4})));
  EXPECT_EQ(input_names(g), (Names{"x", "w"}));  // those that must be given come first
  EXPECT_EQ(input_type(g, 1), "f32[n, 2]");
  EXPECT_FALSE(g.value(g.main().inputs[1]).constant);
  ASSERT_EQ(g.defaults.size(), 1u);
  EXPECT_EQ(numbers_of(*g.defaults.at(g.main().inputs[1])), (std::vector<double>{3, 4}));
  const Message without_shape =
      Message().text(1, "w").message(2, Message().message(1, Message().number(1, 1)));
  EXPECT_EQ(input_type(import(with_default(without_shape, tensor("w", {2}, {3, 4}))), 1),
            "f32[w_0]");
}

TEST(Import, refuses_defaults_that_do_not_fit_their_inputs) {
  const std::string_view code = "frontend.onnx.default_type";
  const auto error = [](int elem, const Names& shape, const ImportOptions& options = {}) {
    return error_of(with_default(value_info("w", elem, shape), tensor("w", {2}, {3, 4})), options);
  };
  EXPECT_TRUE(says(error(7, {"2"}), code, {"`w`", "i64[2]", "f32[2]"}));
  EXPECT_TRUE(says(error(1, {"3"}), code, {"`w`", "f32[3]", "f32[2]"}));
  EXPECT_TRUE(says(error(1, {"2", "1"}), code, {"f32[2, 1]"}));
  EXPECT_TRUE(says(error(1, {"n"}, {.dims = {parse_dim("n=3..8")}}), code, {"f32[n]"}));
}

TEST(Import, makes_symbols_of_dimensions) {
  const GraphParts parts{.inputs = {value_info("a", 1, {"n", "?", "-1", "4"}),
                                    value_info("b", 7, {"n", "?"}), value_info("c", 8, {}),
                                    value_info("d", 1, {"b_1", "0"})}};
  const Graph g = import(model(parts));
  EXPECT_EQ(input_type(g, 0), "f32[n, a_1, a_2, 4]");
  EXPECT_EQ(input_type(g, 1), "i64[n, b_1_]");  // the model has a `b_1` of its own
  EXPECT_EQ(input_type(g, 2), "string[]");
  EXPECT_EQ(input_type(g, 3), "f32[b_1, 0]");
  EXPECT_TRUE(g.type(g.main().inputs[0]).tensor()->shape[0] ==
              g.type(g.main().inputs[1]).tensor()->shape[0]);
}

TEST(Import, takes_choices_of_dimensions) {
  const Message m = model({.inputs = {value_info("a", 1, {"n", "m"})}});
  EXPECT_EQ(parse_dim("n=8").second.max, 8);
  EXPECT_EQ(parse_dim("a=b=1..32").first, "a=b");
  const Graph g = import(m, {.dims = {parse_dim("n=8"), parse_dim("m=1..32")}});
  EXPECT_EQ(input_type(g, 0), "f32[8, m]");
  ASSERT_EQ(g.symbols.size(), 1u);
  EXPECT_EQ(g.symbols[0].symbol.min, 1);
  EXPECT_EQ(g.symbols[0].symbol.max, 32);
  EXPECT_TRUE(says(error_of(m, {.dims = {parse_dim("batch=8")}}), "frontend.onnx.dim_choice",
                   {"`batch`", "`n`", "`m`"}));
  for (const char* wrong : {"n", "n=", "=3", "n=x", "n=-1", "n=3..", "n=..3", "n=4..3", "n=3...4",
                            "n=99999999999999999999"})
    EXPECT_EQ(diagnostic_of([&] { parse_dim(wrong); }).code, "frontend.onnx.dim_choice") << wrong;
  for (const char* large : {"n=1..9223372036854775807", "n=99999999999999999999", "n=2147483648"})
    EXPECT_NE(diagnostic_of([&] { parse_dim(large); }).message.find("above 2147483647"),
              std::string::npos);
  EXPECT_NE(diagnostic_of([&] { parse_dim("n=4..3"); }).message.find("least"), std::string::npos);
  for (const DimRange& range :
       {DimRange{-1, 4, {}}, DimRange{0, int64_t{1} << 31, {}}, DimRange{3, 2, {}}})
    EXPECT_TRUE(says(error_of(m, {.dims = {{"n", range}}}), "frontend.onnx.dim_choice", {"`n`"}));
  EXPECT_EQ(parse_dims({"n=8", "m=1..32"}).size(), 2u);
  const Diagnostic twice = diagnostic_of([] { parse_dims({"n=1", "n=2"}); });
  EXPECT_EQ(twice.code, "frontend.onnx.dim_twice");
  EXPECT_NE(twice.message.find("`n=2`"), std::string::npos) << twice.message;
}

TEST(Import, refuses_types_of_inputs_that_are_not_there) {
  const auto code = [](const Message& input) {
    return diagnostic_of([&] { import(model({.inputs = {input}})); }).code;
  };
  EXPECT_EQ(code(value_info("a", 1, {"-2"})), "frontend.onnx.input_dim");
  EXPECT_EQ(code(value_info("a", 14, {"2"})), "frontend.onnx.tensor_elem");
  EXPECT_EQ(code(value_info("a", 0, {"2"})), "frontend.onnx.tensor_elem");
  EXPECT_EQ(code(value_info("a", 1, {"4294967296", "4294967296"})), "frontend.tensor.size");
  EXPECT_EQ(code(value_info("a", 1, Names(33, "1"))), "frontend.tensor.rank");
  EXPECT_EQ(code(value_info("a", 1, Names(33, "n"))), "frontend.tensor.rank");
  EXPECT_EQ(code(Message().text(1, "a")), "frontend.onnx.type");
  EXPECT_EQ(code(Message().text(1, "a").message(2, Message().message(5, Message()))),
            "frontend.onnx.type");
}

TEST(Import, reads_sequences_and_optionals) {
  const Message f32 = Message().message(1, Message().number(1, 1));
  const Message sequence = Message().message(4, Message().message(1, f32));
  const Message optional = Message().message(9, Message().message(1, sequence));
  const Graph g = import(model({.inputs = {Message().text(1, "s").message(2, sequence),
                                           Message().text(1, "o").message(2, optional),
                                           Message().text(1, "u").message(2, f32)}}));
  EXPECT_EQ(input_type(g, 0), "seq<f32[*]>");
  EXPECT_EQ(input_type(g, 1), "opt<seq<f32[*]> >");
  EXPECT_EQ(input_type(g, 2), "f32[*]");
}

TEST(Import, takes_initialisers_as_constants_when_they_are_used) {
  const Graph g = import(model({.nodes = {node("Add", {"x", "w"}, {"y"})},
                                .inputs = {value_info("x", 1, {"2"}), value_info("w", 1, {"2"})},
                                .outputs = {value_info("y")},
                                .initializers = {tensor("w", {2}, {1, 2}), tensor("u", {1}, {0})}},
                               21, 3));
  EXPECT_EQ(input_names(g), Names{"x"});  // old models list initialisers as inputs too
  Names constants;
  for (const graph::Value& v : g.values)
    if (v.constant) constants.push_back(v.name);
  EXPECT_EQ(constants, Names{"w"});
}

TEST(Import, names_outputs_that_nothing_computes) {
  const Graph g = import(model({.nodes = {node("Identity", {"x"}, {"y"})},
                                .inputs = {value_info("x", 1, {"2"})},
                                .outputs = {value_info("y"), value_info("x"), value_info("w")},
                                .initializers = {tensor("w", {1}, {1})}}));
  EXPECT_EQ(g.output_names, (Names{"y", "x", "w"}));
  EXPECT_EQ(g.main().outputs.size(), 3u);
}

TEST(Import, compares_declared_and_made_element_types) {
  GraphParts parts = from_x_to_y({node("Relu", {"x"}, {"y"})});
  parts.outputs = {value_info("y", 7)};
  EXPECT_TRUE(says(error_of(model(parts)), "frontend.onnx.output_type", {"`y`", "i64", "f32"}));
}

TEST(Import, keeps_what_the_model_says_of_itself) {
  Message m = model(from_x_to_y({node("Relu", {"x"}, {"y"})}));
  m.text(2, "maker").message(14, Message().text(1, "classes").text(2, "cat,dog"));
  const Graph g = import(m);
  EXPECT_EQ(g.metadata.at("classes"), "cat,dog");
  EXPECT_EQ(g.metadata.at("onnx.producer_name"), "maker");
  EXPECT_EQ(g.metadata.at("onnx.ir_version"), "10");
}

TEST(Import, refuses_versions_that_are_not_known) {
  EXPECT_EQ(error_of(model({}, 1000)).code, "frontend.onnx.opset");
  EXPECT_EQ(error_of(model({}, 0)).code, "frontend.onnx.opset");
  EXPECT_EQ(error_of(Message().number(1, 8).message(7, graph({}))).code, "frontend.onnx.opset");
  EXPECT_EQ(error_of(Message().number(1, 99).message(8, opset(21)).message(7, graph({}))).code,
            "frontend.onnx.ir_version");
  EXPECT_EQ(error_of(Message()).code, "frontend.onnx.no_graph");
}

TEST(Import, names_all_unknown_operators_at_once) {
  const Diagnostic d = error_of(model(
      from_x_to_y({node("Fancy", {"x"}, {"a"}, {}, "f1"), node("Fancy", {"a"}, {"b"}),
                   node("Relu", {"b"}, {"c"}), node("Odd", {"c"}, {"y"}, {}, "o", "my.domain")})));
  EXPECT_TRUE(says(d, "frontend.onnx.operator",
                   {"2 operators", "`Fancy` in opset 21, 2 nodes", "Fancy \"f1\" (#0)",
                    "`my.domain::Odd` in opset 1, 1 node", "Odd \"o\" (#3)", "tw.register_op"}));
}

Message branch(const std::string& captured) {
  return graph({.nodes = {node("Neg", {captured}, {"inner"}, {}, "in_branch")},
                .outputs = {value_info("inner")}});
}
/// The condition is an input: a constant one needs no branches.
GraphParts with_if(const Message& then_branch, const Message& else_branch) {
  return {.nodes = {node("If", {"c"}, {"y"},
                         {graph_attr("then_branch", then_branch),
                          graph_attr("else_branch", else_branch)},
                         "choose"),
                    node("Relu", {"x"}, {"a"})},
          .inputs = {value_info("c", 9, {}), value_info("x", 1, {"2"})},
          .outputs = {value_info("y")}};
}

TEST(Import, builds_subgraphs_that_use_values_around_them) {
  // The node stands before the one that makes what its branch uses.
  const Graph g = import(model(with_if(branch("a"), branch("x"))));
  ASSERT_EQ(g.main().nodes.size(), 2u);
  EXPECT_EQ(g.main().nodes[0].origin.text, "Relu (#1)");
  const graph::Node& choose = g.main().nodes[1];
  ASSERT_EQ(choose.bodies.size(), 2u);
  EXPECT_EQ(choose.bodies[0].nodes.at(0).inputs, g.main().nodes[0].outputs);
  EXPECT_EQ(choose.bodies[0].nodes.at(0).origin.text,
            "Neg \"in_branch\" (#0 of a subgraph of If \"choose\" (#0))");
  EXPECT_EQ(choose.origin.text, "If \"choose\" (#0)");
}

TEST(Import, lets_a_subgraph_have_the_names_of_its_node) {
  const Message same = graph({.nodes = {node("Neg", {"x"}, {"y"})}, .outputs = {value_info("y")}});
  EXPECT_EQ(import(model(with_if(same, same))).main().nodes.size(), 2u);
}

TEST(Import, refuses_names_that_lead_nowhere_in_subgraphs) {
  EXPECT_TRUE(says(error_of(model(with_if(branch("x"), branch("z")))), "frontend.onnx.dangling",
                   {"If \"choose\"", "`z`"}));
  // What a branch makes is not seen outside.
  GraphParts parts = with_if(branch("x"), branch("x"));
  parts.outputs = {value_info("inner")};
  EXPECT_TRUE(says(error_of(model(parts)), "frontend.onnx.dangling", {"`inner`"}));
  parts = with_if(branch("x"), graph({.outputs = {value_info("nothing")}}));
  EXPECT_TRUE(says(error_of(model(parts)), "frontend.onnx.dangling", {"`nothing`"}));
  parts = with_if(branch("y"), branch("x"));
  EXPECT_TRUE(says(error_of(model(parts)), "frontend.onnx.cycle", {"`y`"}));
}

Message with_functions(std::vector<Message> nodes, const std::vector<FunctionParts>& functions) {
  Message m = model(from_x_to_y(std::move(nodes)));
  for (const FunctionParts& f : functions) m.message(25, function(f));
  return m;
}
Message call(const std::string& f, const Names& inputs, const Names& outputs,
             std::vector<Message> attributes = {}) {
  return node(f, inputs, outputs, std::move(attributes), "", "my");
}

TEST(Import, expands_functions_where_they_are_called) {
  const Graph g = import(with_functions(
      {call("Twice", {"x"}, {"a"}), call("Twice", {"a"}, {"y"})},
      {{"Twice", {"v"}, {"w"}, {call("Once", {"v"}, {"u"}), call("Once", {"u"}, {"w"})}},
       {"Once", {"p"}, {"q"}, {node("Relu", {"p"}, {"q"}, {}, "r")}}}));
  const std::string line = "relu Relu \"r\" (#0 of function \"my::Once\" for Twice (#";
  EXPECT_EQ(nodes_of(g), line + "0))\n" + line + "0))\n" + line + "1))\n" + line + "1))\n");
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(g.main().nodes[i].inputs, g.main().nodes[i - 1].outputs);
}

int64_t axis_of(const graph::Node& n) { return std::get<int64_t>(n.attrs.list().at(0).value); }

TEST(Import, hands_attributes_into_functions) {
  const FunctionParts f{"F",
                        {"v"},
                        {"w"},
                        {node("Softmax", {"v"}, {"w"}, {ref_attr("axis", "along", 2)})},
                        {int_attr("along", 0)}};
  const auto axis = [&](std::vector<Message> given) {
    return axis_of(import(with_functions({call("F", {"x"}, {"y"}, std::move(given))}, {f}))
                       .main()
                       .nodes.at(0));
  };
  EXPECT_EQ(axis({}), 0);                      // the function's default
  EXPECT_EQ(axis({int_attr("along", 1)}), 1);  // the caller's
  FunctionParts without = f;
  without.defaults.clear();
  const Graph g = import(with_functions({call("F", {"x"}, {"y"})}, {without}));
  EXPECT_EQ(axis_of(g.main().nodes.at(0)), -1);  // the operator's own
}

TEST(Import, hands_missing_inputs_into_functions) {
  const FunctionParts f{
      "F", {"v", "low", "high"}, {"w"}, {node("Clip", {"v", "low", "high"}, {"w"})}};
  EXPECT_FALSE(import(with_functions({call("F", {"x"}, {"y"})}, {f})).main().nodes.empty());
  EXPECT_EQ(error_of(with_functions({call("F", {"x", "x", "x", "x"}, {"y"})}, {f})).code,
            "frontend.onnx.function_inputs");
}

TEST(Import, refuses_functions_without_end) {
  const FunctionParts f{"F", {"v"}, {"w"}, {call("G", {"v"}, {"w"})}};
  const FunctionParts g{"G", {"v"}, {"w"}, {call("F", {"v"}, {"w"})}};
  EXPECT_TRUE(says(error_of(with_functions({call("F", {"x"}, {"y"})}, {f, g})),
                   "frontend.onnx.recursion", {"`my::F`"}));
  // 2^30 nodes in a few hundred bytes.
  std::vector<FunctionParts> tower{{"F0", {"v"}, {"w"}, {node("Relu", {"v"}, {"w"})}}};
  for (int i = 1; i <= 30; ++i) {
    const std::string below = "F" + std::to_string(i - 1);
    tower.push_back({"F" + std::to_string(i),
                     {"v"},
                     {"w"},
                     {call(below, {"v"}, {"u"}), call(below, {"u"}, {"w"})}});
  }
  EXPECT_EQ(error_of(with_functions({call("F30", {"x"}, {"y"})}, tower)).code,
            "frontend.onnx.expansion");
  // A chain of calls, found from its end.
  std::vector<FunctionParts> chain{tower[0]};
  std::vector<Message> calls;
  for (int i = 1; i <= 100; ++i) {
    chain.push_back(
        {"F" + std::to_string(i), {"v"}, {"w"}, {call("F" + std::to_string(i - 1), {"v"}, {"w"})}});
    calls.push_back(
        call("F" + std::to_string(i), {"x"}, {i == 100 ? "y" : "y" + std::to_string(i)}));
  }
  EXPECT_EQ(error_of(with_functions(calls, chain)).code, "frontend.onnx.recursion");
}

TEST(Import, refuses_functions_that_are_wrong) {
  const FunctionParts f{"F", {"v"}, {"w"}, {node("Relu", {"x"}, {"w"})}};
  EXPECT_TRUE(says(error_of(with_functions({call("F", {"x"}, {"y"})}, {f})),
                   "frontend.onnx.dangling", {"`x`", "of function \"my::F\""}));
  const FunctionParts no_output{"F", {"v"}, {"w"}, {node("Relu", {"v"}, {"u"})}};
  EXPECT_EQ(error_of(with_functions({call("F", {"x"}, {"y"})}, {no_output})).code,
            "frontend.onnx.dangling");
  EXPECT_EQ(error_of(with_functions({}, {f, f})).code, "frontend.onnx.function_twice");
  EXPECT_EQ(
      error_of(model(from_x_to_y({node("Softmax", {"x"}, {"y"}, {ref_attr("axis", "a", 2)})})))
          .code,
      "frontend.onnx.attribute_reference");
}

}  // namespace
}  // namespace tilewright::frontend::onnx
