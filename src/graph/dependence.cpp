// SPDX-License-Identifier: Apache-2.0
#include "graph/dependence.h"

#include <algorithm>
#include <unordered_set>

#include "graph/definition.h"
#include "graph/op_def.h"
#include "ir/rewrite.h"

namespace tilewright::graph {
namespace {

bool has_elements(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.value(id).elements && !graph.value(id).constant;
}

}  // namespace

bool is_computed(const OpDef& op) {
  return op.special == Special::None && (op.loops || !op.algorithms.empty());
}

bool may_give_sizes(const Value& value) {
  const TensorType* t = value.type.tensor();
  if (!t || t->strings || ir::is_float(t->elem) || t->rank() > 1) return false;
  const std::optional<int64_t> count = ir::const_int(elements(t->shape));
  return !count || *count <= kMaxElements;
}

void Dependence::symbols(const ir::Expr& e, std::vector<size_t>& out) {
  if (!e || ir::const_int(e)) return;
  ir::walk(e, [&](const ir::VarNode& var) {
    if (const SymbolInfo* s = graph_.symbol_index.with_var(graph_.symbols, var))
      out.push_back(static_cast<size_t>(s - graph_.symbols.data()));
  });
}

ValueId Dependence::source(size_t symbol, std::vector<size_t>& symbols) {
  const auto& source = graph_.symbols[symbol].source;
  if (const FromElement* e = std::get_if<FromElement>(&source)) return e->value;
  if (const FromExtent* e = std::get_if<FromExtent>(&source)) return e->value;
  if (const FromFormula* f = std::get_if<FromFormula>(&source)) this->symbols(f->formula, symbols);
  return kNoValue;
}

std::vector<ValueId> Dependence::sources(std::vector<size_t> symbols, std::vector<bool>& followed) {
  followed.resize(graph_.symbols.size());
  std::vector<ValueId> out;
  while (!symbols.empty()) {
    const size_t symbol = symbols.back();
    symbols.pop_back();
    if (followed[symbol]) continue;
    followed[symbol] = true;
    if (const ValueId id = source(symbol, symbols); id != kNoValue) out.push_back(id);
  }
  return out;
}

bool Dependence::reads(const Node& node, size_t i) {
  if (node.inputs[i] == kNoValue) return false;
  if (node.op->special == Special::View) return i == 0;
  if (node.op->algorithms.empty() || !has_elements(graph_, node.inputs[i])) return true;
  // Only the definition tells whether it takes more than the formulas.
  const std::optional<Definition> def = definition_of(graph_, node);
  return std::ranges::find(def->stages, def->inputs[i]->stage()) != def->stages.end();
}

void Dependence::collect(const Node& node, Needs& out) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == kNoValue) continue;
    if (reads(node, i)) out.data.push_back(id);
    if (has_elements(graph_, id))
      for (const Dim& e : *graph_.value(id).elements) symbols(e, out.symbols);
    else if (!graph_.value(id).constant && may_give_sizes(graph_.value(id)))
      out.sizes.push_back(id);
  }
  for (const ValueId id : node.outputs)
    if (const TensorType* t = id == kNoValue ? nullptr : graph_.type(id).tensor())
      for (const Dim& d : t->shape) symbols(d, out.symbols);
  for (const Function& body : node.bodies) {
    for (const Node& inner : body.nodes) collect(inner, out);
    for (const Check& c : body.checks) symbols(c.condition, out.symbols);
    out.data.insert(out.data.end(), body.outputs.begin(), body.outputs.end());
  }
}

Dependence::Needs Dependence::needs(const Node& node) {
  Needs out;
  collect(node, out);
  std::unordered_set<ValueId> own;
  for_each_made(node, [&](ValueId id) { own.insert(id); });
  std::erase_if(out.data, [&](ValueId id) { return own.contains(id); });
  std::erase_if(out.sizes, [&](ValueId id) { return own.contains(id); });
  return out;
}

}  // namespace tilewright::graph
