// SPDX-License-Identifier: Apache-2.0
// Rewriting graphs node by node, by rules that see a node with rewritten inputs.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/builder.h"
#include "graph/call.h"
#include "graph/pipeline.h"
#include "support/function_ref.h"

namespace tilewright::graph {

class Rewriter {
 public:
  /// A rule replaces every result of the node and returns true, or leaves the node as it is and
  /// returns false; calls it made then are dead.
  using Rule = FunctionRef<bool(Rewriter&, const Node&)>;
  /// The graph with the rule applied to every node of every function and body, in order.
  /// Tells the context whether any rule did something.
  static Graph run(Graph graph, PassContext& context, Rule rule);

  const Graph& graph() { return builder_.graph(); }
  const Value& value(ValueId id) {
    require(id != kNoValue, "an input that is not given");
    return builder_.value(id);
  }
  /// The tensor type of a value; null when it is none.
  const TensorType* tensor(ValueId id) { return value(id).type.tensor(); }
  /// The node that makes the value; null for inputs, constants and results of control.
  const Node* maker(ValueId id) const;
  /// Likewise, when the node is a call of this operator.
  const Node* maker(ValueId id, std::string_view op) const;
  /// The function or body that the node stands in, by a number; what stands in one that is open is
  /// seen from here.
  int scope() const { return scopes_.back(); }
  bool is_open(int scope) const { return std::ranges::find(scopes_, scope) != scopes_.end(); }
  /// How often the value was read before the pass, as a result of a function too.
  int uses(ValueId id) const;

  /// New calls, at the place of the node; attributes that are not listed have their defaults.
  ValueId call(const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs);
  ValueId call(std::string_view op, const std::vector<ValueId>& inputs, const AttrList& attrs = {});
  /// One with bodies and so many results; nobody is told who made them.
  std::vector<ValueId> calls(std::string_view op, const std::vector<ValueId>& inputs,
                             size_t results, std::vector<Function> bodies);
  /// The operator, which is there.
  const OpDef& op(std::string_view name) const;
  /// Is there such an operator?
  bool has_op(std::string_view op) const { return services_.find_op && services_.find_op(op); }
  ValueId constant(Constant content, const std::string& name = "");
  /// The shape as an i64 tensor: a constant, or a value that is known only as formulas.
  ValueId shape_value(const Shape& shape);
  /// A node as its operator's rules see it; valid until the pass makes something.
  Call call_of(const Node& n) {
    return Call(builder_.graph(), *n.op, n.attrs, n.inputs, n.origin, n.bodies);
  }
  /// A condition that must hold when the node that the rule looks at runs.
  void check(const ir::Expr& condition, std::string message);
  /// A view of the value in another shape of as many elements; itself when it has that shape.
  ValueId reshape(ValueId id, const Shape& shape);

  /// Whoever reads `old` reads `now` from here on. False, and nothing is done, when their types
  /// differ. A value made by the rule takes over the name.
  bool replace(ValueId old, ValueId now);

 private:
  Rewriter(Graph graph, const Services& services);
  Graph run(Rule rule);
  void function(Function& f, Rule rule);
  void count_uses(const Function& f);
  void keep(Node& node);
  void collect(Function& f, const std::vector<Node*>& nodes);
  ValueId resolve(ValueId id) const;

  std::vector<Function> functions_;  // before the pass
  Builder builder_;
  const Services& services_;
  std::deque<Node> nodes_;                 // made by the pass, at fixed places
  std::vector<std::vector<Node*>> lists_;  // of every open function: its nodes after the pass
  const Node* at_ = nullptr;               // that the rule looks at
  std::vector<const Node*> makers_;        // by value
  std::unordered_map<ValueId, ValueId> replaced_;
  std::vector<int> uses_;  // by value
  std::vector<int> scopes_;
  int next_scope_ = 0;
  ValueId first_new_ = 0;  // values from here on were made by the pass
  bool changed_ = false;
};

/// An attribute of a node by its name; an InternalError when the operator has none of this kind.
template <class T>
T attr(const Node& node, std::string_view name) {
  for (const NamedAttr& a : node.attrs.list())
    if (a.name == name) return std::get<T>(a.value);
  throw InternalError("an attribute that the operator has not");
}
bool has_attr(const Node& node, std::string_view name);

}  // namespace tilewright::graph
