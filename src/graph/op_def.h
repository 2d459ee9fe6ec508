// SPDX-License-Identifier: Apache-2.0
// What an operator is: how its results' types follow from its inputs, what it computes, how it
// fuses, and which ONNX operators become it. `graph` knows the type, `ops` holds the operators.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/call.h"
#include "graph/graph.h"
#include "te/program.h"

namespace tilewright::graph {

class Builder;
struct OnnxNode;

/// How an operator may be fused with its neighbours.
enum class FusionKind : uint8_t {
  Injective,   // each element of the result from one element of each input: add, transpose
  Reduction,   // sums and the like; may take injective producers, and end a group
  OutFusable,  // convolution, matmul: injective operators on its result join it
  Opaque,      // sort, host operators, control flow
};

/// A way to compute the operator.
struct Algorithm {
  std::string_view name;
  std::vector<te::Tensor> (*define)(const Call& call) = nullptr;
  bool (*applies)(const Call& call) = nullptr;  // null: always
};

/// How a node of ONNX becomes calls of operators: for opset versions from … to.
struct OnnxRule {
  std::string_view op;
  int from = 1;
  void (*rule)(const OnnxNode& node, Builder& g) = nullptr;
  std::string_view domain = "";  // the default domain
  int to = 1'000'000;
};

/// What is special about an operator for the passes and the plan.
enum class Special : uint8_t {
  None,
  View,     // the result is input 0 with another shape: nothing is computed
  Control,  // If, Loop, Scan: the plan runs the bodies
  Group,    // a fused group: its body is one kernel
};

/// One operator: exactly one of algorithms, loops, host and special says what it computes.
struct OpDef {
  std::string_view name;
  FusionKind fusion = FusionKind::Opaque;
  /// The types of the results. Checks the inputs, and refuses with call.refuse(…).
  std::vector<Type> (*infer)(const Call& call) = nullptr;
  /// The elements of each result as formulas, where they can be told; null or nothing: unknown.
  /// Asked only for results that are small integer tensors.
  std::vector<std::optional<std::vector<Dim>>> (*elements)(const Call& call) = nullptr;
  /// The extents of the dimensions that the elements of input 1 are indices of: one for all, or one
  /// for each place of its last dimension. Null: it holds no indices.
  std::vector<Dim> (*indexed)(const Call& call) = nullptr;
  std::vector<Algorithm> algorithms = {};             // (a) tensor expressions, best first
  ir::LoopFunc (*loops)(const Call& call) = nullptr;  // (b) params: the inputs it has, outputs
  std::string_view host = {};                         // (c) a function of runtime/host_ops
  Special special = Special::None;
  /// Is dimension 1 of input 0 and of the result that of channels, which blocks may serve?
  bool channels = false;
  Attrs (*read_attrs)(const AttrList& list) = nullptr;  // set by define_op
  std::vector<OnnxRule> onnx = {};
};

/// Completes the definition with what follows from the struct of its attributes.
template <class T = NoAttrs>
OpDef define_op(OpDef def) {
  def.read_attrs = [](const AttrList& list) {
    T out;
    const std::string unknown = graph::read_attrs(list, out);
    if (!unknown.empty()) refuse_attribute(unknown);
    return Attrs(std::move(out));
  };
  return def;
}

}  // namespace tilewright::graph
