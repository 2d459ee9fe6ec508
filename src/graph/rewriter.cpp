// SPDX-License-Identifier: Apache-2.0
#include "graph/rewriter.h"

#include "graph/op_def.h"

namespace tilewright::graph {

Graph Rewriter::run(Graph graph, PassContext& context, Rule rule) {
  Rewriter rewriter(std::move(graph), context.services);
  Graph out = rewriter.run(rule);
  context.unchanged =
      !rewriter.changed_ && static_cast<ValueId>(out.values.size()) == rewriter.first_new_;
  return out;
}

Rewriter::Rewriter(Graph graph, const Services& services)
    : functions_(std::move(graph.functions)), builder_(std::move(graph)), services_(services) {
  first_new_ = static_cast<ValueId>(builder_.graph().values.size());
  uses_.resize(builder_.graph().values.size());
  makers_.resize(builder_.graph().values.size());
  for (const Function& f : functions_) count_uses(f);
}

void Rewriter::count_uses(const Function& f) {
  for (const Node& n : f.nodes) {
    for (const ValueId id : n.inputs)
      if (id != kNoValue) ++uses_[static_cast<size_t>(id)];
    for (const Function& body : n.bodies) count_uses(body);
  }
  for (const ValueId id : f.outputs) ++uses_[static_cast<size_t>(id)];
}

ValueId Rewriter::resolve(ValueId id) const {
  for (auto found = replaced_.find(id); found != replaced_.end(); found = replaced_.find(id))
    id = found->second;
  return id;
}

Graph Rewriter::run(Rule rule) {
  for (Function& f : functions_) {
    builder_.begin_body(f.name);
    function(f, rule);
    const Function made = builder_.end_body({});
    // Checks of the main function stand in the graph, those of others in themselves.
    std::vector<Check>& checks = &f == &functions_[0] ? builder_.graph().checks : f.checks;
    checks.insert(checks.end(), made.checks.begin(), made.checks.end());
  }
  Graph graph = builder_.take();
  graph.functions = std::move(functions_);
  if (!changed_) return graph;
  for (SymbolInfo& s : graph.symbols) {
    if (FromElement* e = std::get_if<FromElement>(&s.source)) e->value = resolve(e->value);
    if (FromExtent* e = std::get_if<FromExtent>(&s.source)) e->value = resolve(e->value);
  }
  graph.symbol_index = {};
  return graph;
}

void Rewriter::function(Function& f, Rule rule) {
  scopes_.push_back(next_scope_++);
  lists_.emplace_back();
  for (Node& n : f.nodes) {
    for (ValueId& id : n.inputs) id = resolve(id);
    for (Function& body : n.bodies) {
      builder_.begin_body(body.name);
      function(body, rule);
      const Function made = builder_.end_body({});
      body.checks.insert(body.checks.end(), made.checks.begin(), made.checks.end());
    }
    at_ = &n;
    if (rule(*this, n)) {
      changed_ = true;
      continue;
    }
    keep(n);
  }
  for (ValueId& id : f.outputs) id = resolve(id);
  collect(f, lists_.back());
  lists_.pop_back();
  scopes_.pop_back();
}

void Rewriter::keep(Node& node) {
  lists_.back().push_back(&node);
  if (!node.bodies.empty()) return;
  for (const ValueId id : node.outputs)
    if (id != kNoValue) makers_[static_cast<size_t>(id)] = &node;
}

/// Puts the nodes where the function has its own; nobody sees from outside who made its values.
void Rewriter::collect(Function& f, const std::vector<Node*>& nodes) {
  bool same = nodes.size() == f.nodes.size();
  for (size_t i = 0; same && i < nodes.size(); ++i) same = nodes[i] == &f.nodes[i];
  for (const Node* n : nodes)
    for (const ValueId id : n->outputs)
      if (id != kNoValue) makers_[static_cast<size_t>(id)] = nullptr;
  if (same) return;
  std::vector<Node> now;
  now.reserve(nodes.size());
  for (Node* n : nodes) now.push_back(std::move(*n));
  f.nodes = std::move(now);
}

const Node* Rewriter::maker(ValueId id) const {
  const auto at = static_cast<size_t>(id);
  return id != kNoValue && at < makers_.size() ? makers_[at] : nullptr;
}

const Node* Rewriter::maker(ValueId id, std::string_view op) const {
  const Node* node = maker(id);
  return node && node->op->name == op ? node : nullptr;
}

int Rewriter::uses(ValueId id) const {
  const auto at = static_cast<size_t>(id);
  return id != kNoValue && at < uses_.size() ? uses_[at] : 0;
}

ValueId Rewriter::call(const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs) {
  builder_.set_origin(at_->origin);
  const ValueId id = builder_.call(op, attrs, inputs);
  nodes_.push_back(builder_.take_last());
  makers_.resize(builder_.graph().values.size());
  keep(nodes_.back());
  return id;
}

ValueId Rewriter::call(std::string_view op, const std::vector<ValueId>& inputs,
                       const AttrList& attrs) {
  const OpDef& def = this->op(op);
  return call(def, attrs_from_list(def, attrs), inputs);
}

std::vector<ValueId> Rewriter::calls(std::string_view op, const std::vector<ValueId>& inputs,
                                     size_t results, std::vector<Function> bodies) {
  builder_.set_origin(at_->origin);
  const std::vector<ValueId> out =
      builder_.calls(this->op(op), {}, inputs, results, std::move(bodies));
  nodes_.push_back(builder_.take_last());
  makers_.resize(builder_.graph().values.size());
  keep(nodes_.back());
  return out;
}

const OpDef& Rewriter::op(std::string_view name) const {
  const OpDef* def = services_.find_op ? services_.find_op(name) : nullptr;
  require(def, "a rule calls an operator that is not there");
  return *def;
}

ValueId Rewriter::constant(Constant content, const std::string& name) {
  return builder_.constant(std::move(content), name);
}

ValueId Rewriter::shape_value(const Shape& shape) {
  if (const std::optional<std::vector<int64_t>> constants = const_dims(shape))
    return builder_.ints(*constants);
  return builder_.formulas(shape);
}

void Rewriter::check(const ir::Expr& condition, std::string message) {
  builder_.graph().checks.push_back({condition, std::move(message), at_->origin});
}

ValueId Rewriter::reshape(ValueId id, const Shape& shape) {
  if (same(tensor(id)->shape, shape)) return id;
  return call("reshape", {id, shape_value(shape)}, {{"allowzero", int64_t{1}}});
}

bool Rewriter::replace(ValueId old, ValueId now) {
  if (!same(builder_.type(old), builder_.type(now))) return false;
  changed_ = true;
  replaced_[old] = now;
  const int more = uses(old);
  if (static_cast<size_t>(now) >= uses_.size()) uses_.resize(builder_.graph().values.size());
  uses_[static_cast<size_t>(now)] += more;
  Graph& graph = builder_.graph();
  if (now >= first_new_ && old < first_new_)
    std::swap(graph.value(old).name, graph.value(now).name);
  return true;
}

bool has_attr(const Node& node, std::string_view name) {
  return std::ranges::any_of(node.attrs.list(), [&](const NamedAttr& a) { return a.name == name; });
}

}  // namespace tilewright::graph
