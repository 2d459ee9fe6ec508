// SPDX-License-Identifier: Apache-2.0
// Runs small graphs without symbols by the interpreter, to compare what they compute before and
// after a pass.
#pragma once

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "graph/dependence.h"
#include "graphs.h"
#include "ir/interpret/interpret.h"
#include "lower/to_blocks.h"
#include "ops/program_of.h"

namespace tilewright::graph {

/// The results of one node, or of the group that it is.
inline std::vector<Constant> run_node(Graph& graph, const Node& n,
                                      const std::map<ValueId, Constant>& values) {
  const auto get = [&](ValueId id) {
    const auto found = values.find(id);
    return found == values.end() ? graph.value(id).constant : found->second;
  };
  if (n.op->special == Special::View) {
    const Constant from = get(n.inputs[0]);
    return {view_constant(from->elem, *const_dims(graph.type(n.outputs[0]).tensor()->shape),
                          from->bytes, from.shared())};
  }
  const std::vector<Node> members =
      n.op->special == Special::Group ? n.bodies[0].nodes : std::vector<Node>{n};
  const ops::KernelProgram kernel = ops::program_of(graph, members, n.outputs, "kernel");
  const ir::LoopFunc func = kernel.loops ? *kernel.loops : lower::to_blocks(*kernel.program);
  std::vector<ir::Array> args;
  for (const ValueId id : kernel.inputs) {
    const Constant c = get(id);
    args.push_back(ir::from_bytes(c->elem, c->shape, c->bytes));
  }
  for (const ValueId id : n.outputs) {
    const TensorType& t = *graph.type(id).tensor();
    args.push_back(ir::make_array(t.elem, *const_dims(t.shape)));
  }
  ir::interpret(func, args, {});
  std::vector<Constant> out;
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    const TensorType& t = *graph.type(n.outputs[i]).tensor();
    out.push_back(
        make_constant(t.elem, *const_dims(t.shape), ir::to_bytes(args[kernel.inputs.size() + i])));
  }
  return out;
}

inline std::vector<Constant> run_graph(Graph graph, const std::vector<Constant>& inputs) {
  std::map<ValueId, Constant> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.main().inputs[i]] = inputs[i];
  const Function main = graph.main();
  for (const Node& n : main.nodes) {
    const std::vector<Constant> results = run_node(graph, n, values);
    for (size_t i = 0; i < n.outputs.size(); ++i) values[n.outputs[i]] = results[i];
  }
  std::vector<Constant> out;
  for (const ValueId id : main.outputs)
    out.push_back(values.contains(id) ? values.at(id) : graph.value(id).constant);
  return out;
}

/// For Services::evaluate.
inline std::vector<Constant> evaluate(const Graph& graph, const Node& n) {
  Graph copy = graph;
  return run_node(copy, n, {});
}

inline Constant random_constant(std::mt19937& random, const std::vector<int64_t>& shape,
                                double low = -1, double high = 1) {
  int64_t count = 1;
  for (const int64_t d : shape) count *= d;
  std::uniform_real_distribution<double> number(low, high);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(number(random));
  return float_constant(ir::Elem::F32, shape, values);
}

/// Both graphs give the same for random inputs, within the tolerance.
inline void expect_equal(const Graph& before, const Graph& after, double tolerance) {
  std::mt19937 random(3);
  std::vector<Constant> inputs;
  for (const ValueId id : before.main().inputs)
    inputs.push_back(random_constant(random, *const_dims(before.type(id).tensor()->shape)));
  const std::vector<Constant> want = run_graph(before, inputs), got = run_graph(after, inputs);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i]->shape, got[i]->shape);
    const std::vector<double> a = numbers_of(*want[i]), b = numbers_of(*got[i]);
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], tolerance * std::max(1.0, std::abs(a[k]))) << "at " << k;
  }
}

}  // namespace tilewright::graph
