// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tilewright::graph {

struct OpDef;
struct OnnxNode;

/// Makes a graph call by call; every call's types are inferred at once.
class Builder {
 public:
  Builder();
  /// Goes on with the values of a graph; its functions are left to be made again.
  explicit Builder(Graph graph);

  /// A symbol that an input dimension may use. Asking again for a name gives the same one.
  Dim symbol(const std::string& name, int64_t min = 0, int64_t max = kMaxSize);
  ValueId input(const std::string& name, Type type);
  ValueId constant(Constant content, const std::string& name = "");
  ValueId ints(const std::vector<int64_t>& values);  // i64[n]
  ValueId scalar(ir::Elem elem, double value);       // rank 0
  /// An i64[n] that is known as formulas and made by no node: for operators that take sizes.
  ValueId formulas(std::vector<Dim> elements);
  void output(ValueId value, const std::string& name = "");  // without one: the value's

  /// Calls of operators. `outputs` counts the results that are wanted.
  ValueId call(const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs);
  std::vector<ValueId> calls(const OpDef& op, const Attrs& attrs,
                             const std::vector<ValueId>& inputs, size_t outputs,
                             std::vector<Function> bodies = {});

  /// A node whose results have types already.
  void add(Node node) { open_.back().nodes.push_back(std::move(node)); }
  /// The last node of the open function, for who keeps them himself.
  Node take_last() {
    Node node = std::move(open_.back().nodes.back());
    open_.back().nodes.pop_back();
    return node;
  }

  /// Results of an ONNX node get the names the model gives them.
  void output(const OnnxNode& node, ValueId value) { outputs(node, {value}); }
  void outputs(const OnnxNode& node, const std::vector<ValueId>& values);
  /// What the last rule gave as the node's outputs, for the importer; empties it.
  std::vector<ValueId> take_results() { return std::exchange(results_, {}); }

  /// Nested functions: between begin and end, calls go into the body.
  void begin_body(const std::string& name);
  ValueId body_input(const std::string& name, Type type);
  Function end_body(const std::vector<ValueId>& outputs);

  /// Goes on with a body that was ended.
  void resume_body(Function body);

  /// For who tries what may be refused, or a body with types that turn out not to hold: forgets the
  /// nodes, symbols and checks made since, and bodies that were not ended. Values stay, unused:
  /// others may have been made on the way, such as weights.
  struct Checkpoint {
    size_t symbols, checks, open, nodes;
  };
  Checkpoint checkpoint() const {
    return {graph_.symbols.size(), graph_.checks.size(), open_.size(), open_.back().nodes.size()};
  }
  void rollback(const Checkpoint& to);
  /// Puts the nodes of a body into the open function, which has values for its inputs; gives the
  /// body's results.
  std::vector<ValueId> splice(Function body);
  /// Lets a call give `value`, the input of a body that is about to be spliced.
  void bind(ValueId value, const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs);

  const Type& type(ValueId id) const { return graph_.type(id); }
  const TensorType& tensor(ValueId id) const;
  const Value& value(ValueId id) const { return graph_.value(id); }
  const ConstantNode* constant_of(ValueId id) const { return graph_.value(id).constant.get(); }
  /// Whatever is made from now on comes from there.
  void set_origin(Origin origin) {
    origin_ = std::move(origin);
    first_of_origin_ = static_cast<ValueId>(graph_.values.size());
  }
  const Origin& origin() const { return origin_; }
  Graph& graph() { return graph_; }

  /// The finished graph.
  Graph take();

 private:
  ValueId add_value(std::string name, Type type);
  std::string fresh(std::string name);
  bool narrows();

  Graph graph_;
  Origin origin_;
  std::vector<Function> open_;         // functions in the making, outermost first
  size_t narrowed_ = 0;                // checks of the main function that were looked at
  std::vector<size_t> checks_before_;  // of each open body: how many checks those around it had
  std::unordered_map<std::string, int> names_;
  std::map<std::string, Dim> symbols_;
  std::unordered_map<const ir::ExprNode*, size_t> unbound_;  // symbols that no input has yet
  ValueId first_of_origin_ = 0;
  std::vector<ValueId> results_;
};

}  // namespace tilewright::graph
