// SPDX-License-Identifier: Apache-2.0
// One ONNX node through its import rule and the interpreter.
#pragma once

#include <gtest/gtest.h>

#include "common/errors.h"
#include "driver/reference.h"
#include "graph/onnx_node.h"
#include "ops/all.h"

namespace tilewright::ops {

struct TestNode {
  std::string op;
  int opset = 21;
  std::vector<std::pair<std::string, graph::OnnxAttr>> attributes = {};
  size_t outputs = 1;
  std::string domain = "";
  std::vector<size_t> constants = {};  // inputs that are known at compile time
  bool symbolic = false;               // a symbol for each dimension of the other inputs
};

/// Inputs may be null: left out.
inline std::vector<graph::Constant> run_node(const TestNode& test,
                                             const std::vector<graph::Constant>& inputs) {
  graph::Builder g;
  graph::OnnxNode node;
  node.op = test.op;
  node.domain = test.domain;
  node.opset = test.opset;
  node.attributes = test.attributes;
  node.origin.text = test.op;
  std::vector<graph::Constant> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool known =
        std::find(test.constants.begin(), test.constants.end(), i) != test.constants.end();
    if (!inputs[i]) {
      node.inputs.push_back(graph::kNoValue);
    } else if (known) {
      node.inputs.push_back(g.constant(inputs[i]));
    } else {
      graph::TensorType type = inputs[i]->type();
      if (test.symbolic)
        for (int d = 0; d < type.rank(); ++d)
          type.shape[static_cast<size_t>(d)] =
              g.symbol("s" + std::to_string(i) + std::to_string(d));
      node.inputs.push_back(g.input("x" + std::to_string(i), type));
      fed.push_back(inputs[i]);
    }
  }
  for (size_t i = 0; i < test.outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  const graph::OnnxRule* rule = onnx_rule(test.domain, test.op, test.opset);
  require(rule, "there is no rule for the tested operator");
  g.set_origin(node.origin);
  rule->rule(node, g);
  for (const graph::ValueId id : g.take_results())
    if (id != graph::kNoValue) g.output(id);
  return driver::run_reference(g.take(), fed);
}

inline graph::Constant floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  return graph::float_constant(ir::Elem::F32, std::move(shape), values);
}
inline graph::Constant ints(std::vector<int64_t> shape, const std::vector<int64_t>& values,
                            ir::Elem elem = ir::Elem::I64) {
  return graph::int_constant(elem, std::move(shape), values);
}
inline std::vector<double> numbers(const graph::Constant& c) { return graph::numbers_of(*c); }

}  // namespace tilewright::ops
