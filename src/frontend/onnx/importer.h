// SPDX-License-Identifier: Apache-2.0
// Turns the nodes of a model into calls of operators, body by body.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "frontend/onnx/names.h"
#include "frontend/onnx/order.h"
#include "frontend/onnx/tensor.h"
#include "graph/onnx_node.h"
#include "graph/op_def.h"
#include "support/diagnostic.h"
#include "support/function_ref.h"

namespace tilewright::frontend::onnx {

/// What the nodes of one graph, or of one call of a function, see.
struct Frame {
  Frame* outer = nullptr;  // of a subgraph or a way: the graph around it
  bool is_way = false;     // one of the ways in which nodes of `outer` are made: see ways.cpp
  const Opsets* opsets = nullptr;
  /// What the caller of a function gives for its attributes; null outside of functions.
  const std::unordered_map<std::string_view, graph::OnnxAttr>* attributes = nullptr;
  std::string place;  // for origin_text
  std::string top;    // the node of the main graph that all this belongs to
  int calls = 0;      // of functions around
  int64_t ways = 1;   // in which the nodes around these and these are made

  /// kNoValue: an input of a function that its caller left out.
  std::unordered_map<std::string_view, graph::ValueId> values;
  /// What stands in the place of values from around a way, where more is known of them.
  std::unordered_map<graph::ValueId, graph::ValueId> better;
  /// These become values when a node uses them.
  std::unordered_map<std::string_view, std::variant<const TensorProto*, const SparseTensorProto*>>
      initializers;

  void add_initializers(const GraphProto& graph);
  /// An input or a result; refuses a name that this body has already.
  void add(std::string_view name, graph::ValueId value, const std::string& origin);
  bool knows(std::string_view name) const;
  bool is_main() const {
    return is_way ? outer->is_main() : outer == nullptr && attributes == nullptr;
  }
};

/// Nodes that are still to be made, the next one last.
using NodesLeft = std::vector<const NodeProto*>;
using Names = std::unordered_set<std::string_view>;

Names names_of(const std::vector<ValueInfoProto>& values);

/// One of the ways that a run may take from a node on. What only the run tells is known there.
struct Way {
  std::string name;
  std::function<graph::ValueId()> is_taken;  // makes the condition: a bool
  std::function<void(Frame&)> begin;         // makes what is known, as the way's first nodes
};

/// The ways from a node on.
struct Split {
  std::vector<Way> ways;
  /// The value that something better stands for in each way; none where the ways begin with the
  /// node's own results.
  graph::ValueId about = graph::kNoValue;
};

class Importer {
 public:
  /// The size of the file bounds how far functions and subgraphs may expand.
  Importer(graph::Builder& g, Tensors& tensors, const LocalFunctions& functions, size_t file_size);

  /// Makes the nodes of a graph or function, which gives `results`.
  void nodes(const std::vector<NodeProto>& nodes, const Names& results, Frame& frame);
  /// The value of a name that the frame knows.
  graph::ValueId find(std::string_view name, Frame& frame);
  /// The same, where that is a value already; kNoValue for an initialiser that is none yet.
  graph::ValueId known(std::string_view name, const Frame& frame) const;
  /// The content of an initialiser, which is one no longer: the name is free for an input.
  graph::Constant take_initializer(std::string_view name, Frame& frame);

 private:
  class Subgraph;
  using Subgraphs = std::list<std::unique_ptr<graph::OnnxSubgraph>>;

  graph::OnnxNode read(const NodeProto& node, Frame& frame, Subgraphs& subgraphs);
  void node(const NodeProto& node, Frame& frame);
  void add_results(const NodeProto& node, const graph::OnnxNode& read,
                   const std::vector<graph::ValueId>& results, Frame& frame);

  // ways.cpp
  struct Branch;
  void next(NodesLeft& left, const Names& wanted, Frame& frame);
  void follow(Split split, NodesLeft& left, const Names& wanted, Frame& frame);
  std::vector<Branch> begin(const Split& split, const NodesLeft& rest, const NodeProto& first,
                            Frame& frame);
  std::optional<Error> attempt(Branch& branch, FunctionRef<void()> make);
  void advance(std::vector<Branch>& branches, graph::ValueId about, const Names& wanted,
               const Frame& frame, bool alone);
  bool meet(const std::vector<Branch>& branches, graph::ValueId about, const Names& wanted,
            const Frame& frame);
  std::vector<std::string_view> live(const Branch& branch, const Names& wanted);
  void join(std::vector<Branch>& branches, const NodeProto& first, const Names& wanted,
            Frame& frame);
  void forget(const graph::Function& body, size_t first);

  // splits.cpp
  std::optional<Split> split_of(const NodeProto& node, Frame& frame);
  std::optional<Split> by_rank(const NodeProto& node, const Frame& frame);
  std::optional<Split> by_extent(const NodeProto& node, const Frame& frame);
  std::optional<Split> by_squeezed(const NodeProto& node, Frame& frame);
  std::optional<Split> by_branch(const NodeProto& node, Frame& frame);
  std::vector<int64_t> ranks_of(const std::vector<graph::ValueId>& values) const;

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
  int64_t ways_left_;           // nodes that may be made again in other ways, with all after them
  int64_t alone_left_ = 4'000;  // and nodes alone
  /// The ranks that can occur, of values whose rank only the run tells; not there: any.
  std::unordered_map<graph::ValueId, std::vector<int64_t>> ranks_;
};

}  // namespace tilewright::frontend::onnx
