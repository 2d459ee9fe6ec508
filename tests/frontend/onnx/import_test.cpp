// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import.h"

#include <gtest/gtest.h>

#include "common/errors.h"
#include "frontend/onnx/encode.h"
#include "graph/op_def.h"

namespace tilewright::frontend::onnx {
namespace {

using graph::Graph;

std::string ops_of(const Graph& g) {
  std::string out;
  for (const graph::Node& n : g.main().nodes)
    out += std::string(n.op->name) + " " + n.origin.text + "\n";
  return out;
}

TEST(Import, walks_nodes_in_an_order_that_runs) {
  const Graph g = import(model({.nodes = {node("Softmax", {"b"}, {"y"}, {}, "last"),
                                          node("Softmax", {"x"}, {"b"}, {int_attr("axis", 0)})},
                                .inputs = {value_info("x", 1, {"batch", "10"})},
                                .outputs = {value_info("y")}}));
  EXPECT_EQ(ops_of(g), "softmax Softmax (#1)\nsoftmax Softmax \"last\" (#0)\n");
  EXPECT_EQ(g.output_names, std::vector<std::string>{"y"});
  EXPECT_EQ(g.value(g.main().inputs.at(0)).name, "x");
  EXPECT_EQ(graph::print(g.type(g.main().outputs.at(0))), "f32[batch, 10]");
}

}  // namespace
}  // namespace tilewright::frontend::onnx
