// SPDX-License-Identifier: Apache-2.0
#include "graph/dependence.h"

#include <algorithm>
#include <unordered_set>

#include "graph/definition.h"
#include "graph/op_def.h"
#include "ir/rewrite.h"
#include "support/diagnostic.h"
#include "support/str.h"

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

void Dependence::know_symbols() {
  constexpr size_t kMost = 8'000'000;
  for (; known_ < graph_.symbols.size(); ++known_) {
    const SymbolInfo& s = graph_.symbols[known_];
    std::vector<ValueId> from;
    if (const FromElement* e = std::get_if<FromElement>(&s.source)) from.push_back(e->value);
    if (const FromExtent* e = std::get_if<FromExtent>(&s.source)) from.push_back(e->value);
    if (const FromFormula* f = std::get_if<FromFormula>(&s.source))
      for (const ir::Var& var : ir::vars_of(f->formula))
        if (const auto found = sources_.find(var); found != sources_.end())
          from.insert(from.end(), found->second.begin(), found->second.end());
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    // Each stands with all that it follows from; in chains of thousands that is without end.
    listed_ += from.size();
    if (listed_ > kMost)
      throw Error({.code = "graph.sizes.sources",
                   .at = {},
                   .message = "the sizes of the model follow from too many values, step by step",
                   .notes = {str("at ", s.origin.text)},
                   .help = "give the model's dimensions values with --dim, or cut it in two"});
    sources_.emplace(s.symbol.var, std::move(from));
  }
}

void Dependence::sources(const ir::Expr& e, std::vector<ValueId>& out) {
  if (!e || ir::const_int(e)) return;
  know_symbols();
  for (const ir::Var& var : ir::vars_of(e))
    if (const auto found = sources_.find(var); found != sources_.end())
      out.insert(out.end(), found->second.begin(), found->second.end());
}

void Dependence::sources(const Type& type, std::vector<ValueId>& out) {
  if (const TensorType* t = type.tensor())
    for (const Dim& d : t->shape) sources(d, out);
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
      for (const Dim& e : *graph_.value(id).elements) sources(e, out.sizes);
    else if (!graph_.value(id).constant && may_give_sizes(graph_.value(id)))
      out.sizes.push_back(id);
  }
  for (const ValueId id : node.outputs)
    if (id != kNoValue) sources(graph_.type(id), out.sizes);
  for (const Function& body : node.bodies) {
    for (const Node& inner : body.nodes) collect(inner, out);
    for (const Check& c : body.checks) sources(c.condition, out.sizes);
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
