// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "support/function_ref.h"

namespace tilewright::ops {

/// What one kernel computes: a tensor program, or the loops of an imperative operator.
struct KernelProgram {
  std::string name;
  std::optional<te::Program> program;  // of operators in the form of tensor expressions
  std::optional<ir::LoopFunc> loops;   // of a single imperative one
  std::vector<graph::ValueId> inputs;  // of the program or function, in order
  std::vector<graph::ValueId> outputs;
  std::vector<ir::Symbol> symbols;  // likewise; each is one of the graph's
};

/// The operators of one kernel, in order, put together: what is read from outside becomes an input,
/// what `outputs` lists is returned. Inputs that only give sizes are not read.
KernelProgram program_of(graph::Graph& graph, const std::vector<graph::Node>& nodes,
                         const std::vector<graph::ValueId>& outputs, const std::string& name);

/// The results of the node's operator; `tensor` gives what it reads.
std::vector<te::Tensor> tensors_of(graph::Graph& graph, const graph::Node& node,
                                   FunctionRef<te::Tensor(graph::ValueId)> tensor);
/// A constant of one element as a tensor that needs no memory; nothing for others.
std::optional<te::Tensor> known_tensor(const graph::Value& value);

/// Is the operator computed by a kernel (tensor expressions or loops)?
bool is_computed(const graph::OpDef& op);

}  // namespace tilewright::ops
