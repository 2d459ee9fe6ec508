// SPDX-License-Identifier: Apache-2.0
// Turns the nodes of a model into calls of operators, body by body.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "frontend/onnx/names.h"
#include "frontend/onnx/order.h"
#include "frontend/onnx/tensor.h"
#include "graph/onnx_node.h"
#include "graph/op_def.h"

namespace tilewright::frontend::onnx {

/// What the nodes of one graph, or of one call of a function, see.
struct Frame {
  Frame* outer = nullptr;  // of a subgraph: the graph around it
  const Opsets* opsets = nullptr;
  /// What the caller of a function gives for its attributes; null outside of functions.
  const std::unordered_map<std::string_view, graph::OnnxAttr>* attributes = nullptr;
  std::string place;  // for origin_text
  std::string top;    // the node of the main graph that all this belongs to
  int calls = 0;      // of functions around

  /// kNoValue: an input of a function that its caller left out.
  std::unordered_map<std::string_view, graph::ValueId> values;
  /// These become values when a node uses them.
  std::unordered_map<std::string_view, std::variant<const TensorProto*, const SparseTensorProto*>>
      initializers;

  void add_initializers(const GraphProto& graph);
  /// An input or a result; refuses a name that this body has already.
  void add(std::string_view name, graph::ValueId value, const std::string& origin);
  bool knows(std::string_view name) const;
  bool is_main() const { return outer == nullptr && attributes == nullptr; }
};

class Importer {
 public:
  /// The size of the file bounds how far functions and subgraphs may expand.
  Importer(graph::Builder& g, Tensors& tensors, const LocalFunctions& functions, size_t file_size);

  void nodes(const std::vector<NodeProto>& nodes, Frame& frame);
  /// The value of a name that the frame knows.
  graph::ValueId find(std::string_view name, Frame& frame);
  /// The content of an initialiser, which is one no longer: the name is free for an input.
  graph::Constant take_initializer(std::string_view name, Frame& frame);

 private:
  class Subgraph;
  using Subgraphs = std::list<std::unique_ptr<Subgraph>>;

  void node(const NodeProto& node, Frame& frame);
  std::vector<graph::ValueId> by_rank(const graph::OnnxNode& node, const graph::OnnxRule& rule);
  std::vector<graph::ValueId> call(const FunctionProto& f, const graph::OnnxNode& call,
                                   const Frame& frame);
  std::optional<graph::OnnxAttr> attribute(const AttributeProto& attribute, Frame& frame,
                                           const std::string& origin, Subgraphs& subgraphs);
  void count(const NodeProto& node, const std::string& origin);
  graph::Constant content(const Frame& frame, std::string_view name);

  graph::Builder& g_;
  Tensors& tensors_;
  const LocalFunctions& functions_;
  NodeOrder order_;
  int64_t nodes_left_, bytes_left_;
  int64_t ways_left_ = 4000;  // for ranks that only the run tells
};

}  // namespace tilewright::frontend::onnx
