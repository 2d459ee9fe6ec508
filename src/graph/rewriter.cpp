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
  for (const Function& f : functions_) count_uses(f);
}

void Rewriter::count_uses(const Function& f) {
  for (const Node& n : f.nodes) {
    for (const ValueId id : n.inputs) ++uses_[id];
    for (const Function& body : n.bodies) count_uses(body);
  }
  for (const ValueId id : f.outputs) ++uses_[id];
}

ValueId Rewriter::resolve(ValueId id) const {
  for (auto found = replaced_.find(id); found != replaced_.end(); found = replaced_.find(id))
    id = found->second;
  return id;
}

Graph Rewriter::run(Rule rule) {
  std::vector<Function> done;
  for (Function& f : functions_) {
    builder_.begin_body(f.name);
    function(f, rule);
    Function out = builder_.end_body(f.outputs);
    out.inputs = f.inputs;
    // Checks of the main function stand in the graph, those of others in themselves.
    std::vector<Check>& checks = done.empty() ? builder_.graph().checks : f.checks;
    checks.insert(checks.end(), out.checks.begin(), out.checks.end());
    out.checks = done.empty() ? std::vector<Check>{} : std::move(f.checks);
    done.push_back(std::move(out));
  }
  Graph graph = builder_.take();
  graph.functions = std::move(done);
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
  for (Node& n : f.nodes) {
    for (ValueId& id : n.inputs) id = resolve(id);
    for (Function& body : n.bodies) {
      builder_.begin_body(body.name);
      function(body, rule);
      Function out = builder_.end_body(body.outputs);
      out.inputs = std::move(body.inputs);
      out.checks.insert(out.checks.begin(), body.checks.begin(), body.checks.end());
      body = std::move(out);
    }
    builder_.set_origin(n.origin);
    if (rule(*this, n)) {
      changed_ = true;
      continue;
    }
    keep(n);
    builder_.add(std::move(n));
  }
  for (ValueId& id : f.outputs) id = resolve(id);
  scopes_.pop_back();
}

void Rewriter::keep(const Node& node) {
  if (!node.bodies.empty()) return;
  nodes_.push_back(node);
  for (const ValueId id : node.outputs)
    if (id != kNoValue) makers_[id] = &nodes_.back();
}

const Node* Rewriter::maker(ValueId id) const {
  const auto found = makers_.find(id);
  return found == makers_.end() ? nullptr : found->second;
}

const Node* Rewriter::maker(ValueId id, std::string_view op) const {
  const Node* node = maker(id);
  return node && node->op->name == op ? node : nullptr;
}

int Rewriter::uses(ValueId id) const {
  const auto found = uses_.find(id);
  return found == uses_.end() ? 0 : found->second;
}

ValueId Rewriter::call(const OpDef& op, const Attrs& attrs, const std::vector<ValueId>& inputs) {
  const ValueId id = builder_.call(op, attrs, inputs);
  keep(builder_.nodes().back());
  return id;
}

ValueId Rewriter::call(std::string_view op, const std::vector<ValueId>& inputs,
                       const AttrList& attrs) {
  const OpDef* def = services_.find_op ? services_.find_op(op) : nullptr;
  require(def, "a rule calls an operator that is not there");
  return call(*def, attrs_from_list(*def, attrs), inputs);
}

ValueId Rewriter::constant(Constant content, const std::string& name) {
  return builder_.constant(std::move(content), name);
}

ValueId Rewriter::shape_value(const Shape& shape) {
  if (const std::optional<std::vector<int64_t>> constants = const_dims(shape))
    return builder_.ints(*constants);
  return builder_.formulas(shape);
}

ValueId Rewriter::reshape(ValueId id, const Shape& shape) {
  if (same(tensor(id)->shape, shape)) return id;
  return call("reshape", {id, shape_value(shape)}, {{"allowzero", int64_t{1}}});
}

bool Rewriter::replace(ValueId old, ValueId now) {
  if (!same(builder_.type(old), builder_.type(now))) return false;
  changed_ = true;
  replaced_[old] = now;
  uses_[now] += uses(old);
  Graph& graph = builder_.graph();
  if (now >= first_new_ && old < first_new_)
    std::swap(graph.value(old).name, graph.value(now).name);
  return true;
}

bool has_attr(const Node& node, std::string_view name) {
  return std::ranges::any_of(node.attrs.list(), [&](const NamedAttr& a) { return a.name == name; });
}

}  // namespace tilewright::graph
