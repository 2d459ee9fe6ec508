// SPDX-License-Identifier: Apache-2.0
#include "graph/parts.h"

#include <algorithm>

#include "arith/context.h"
#include "graph/dependence.h"
#include "graph/layout.h"
#include "graph/memory.h"
#include "graph/op_def.h"
#include "graph/rewriter.h"
#include "ir/rewrite.h"

namespace tilewright::graph {
namespace {

using Pieces = std::vector<std::pair<ValueId, Dim>>;

bool is_concat(const Node& n) { return n.op->name == "concat"; }
bool is_split(const Node& n) { return n.op->name == "split"; }

/// Does memory begin with the axis: is every dimension outside of it 1, and is it not cut up?
bool is_outermost(const TensorType& t, int64_t axis) {
  const auto a = static_cast<size_t>(axis < 0 ? axis + t.rank() : axis);
  if (t.layout && a > 1) return false;
  return std::all_of(t.shape.begin(), t.shape.begin() + static_cast<std::ptrdiff_t>(a),
                     [](const Dim& d) { return ir::is_const(d, 1); });
}

Dim bytes_of(const TensorType& t) { return simplified(elements(t.shape) * (ir::bits(t.elem) / 8)); }

bool is_aligned(const Graph& graph, SymbolIndex& symbols, const Dim& offset) {
  arith::Context context;
  for (const ir::Var& var : ir::vars_of(offset)) {
    const SymbolInfo* info = symbols.with_var(graph.symbols, *var);
    require(info, "a symbol that the graph does not have");
    context.bind(var, arith::Interval{info->symbol.min, info->symbol.max});
  }
  return context.can_prove_equal(offset % kMemoryAlignment, 0);
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    for (const SymbolInfo& s : graph.symbols) {
      const FromFormula* f = std::get_if<FromFormula>(&s.source);
      if (f ? is_early(f->formula) : std::holds_alternative<FromInput>(s.source))
        early_.insert(s.symbol.var.get());
    }
  }

  Parts run() {
    for (const Node& node : graph_.main().nodes) {
      const Node* n = &node;
      if (n->op->special == Special::Group && n->bodies[0].nodes.size() == 1)
        n = &n->bodies[0].nodes[0];
      if ((is_split(*n) && split(*n, node.outputs)) || (is_concat(*n) && concat(*n)))
        out_.nodes.insert(&node);
      if (node.op->host.empty() && (node.op->special == Special::Group || is_computed(*node.op)))
        made_.insert(node.outputs.begin(), node.outputs.end());
    }
    return std::move(out_);
  }

 private:
  bool is_output(ValueId id) const {
    return std::ranges::find(graph_.main().outputs, id) != graph_.main().outputs.end();
  }

  /// Does the formula follow from the dimensions of the inputs, so that the plan gives it a place?
  bool is_early(const Dim& formula) const {
    bool early = true;
    ir::walk(formula, [&](const ir::VarNode& var) { early = early && early_.contains(&var); });
    return early;
  }

  bool in_same_order(ValueId a, ValueId b) const {
    return channel_block(*graph_.type(a).tensor()) == channel_block(*graph_.type(b).tensor());
  }

  bool split(const Node& n, const std::vector<ValueId>& read) {
    const ValueId whole = n.inputs[0];
    Pieces pieces = stretches(graph_, symbols_, n);
    std::erase_if(pieces,
                  [&](const auto& piece) { return !std::ranges::count(read, piece.first); });
    if (pieces.empty() || graph_.value(whole).constant) return false;
    for (const auto& [id, offset] : pieces)
      if (is_output(id) || graph_.value(id).constant || !in_same_order(id, whole)) return false;
    for (const auto& [id, offset] : pieces) out_.places[id] = {whole, offset};
    return true;
  }

  /// Its inputs are values that kernels write, each of them here and nowhere else.
  bool concat(const Node& n) {
    const ValueId whole = n.outputs[0];
    const Pieces pieces = stretches(graph_, symbols_, n);
    if (pieces.empty() || is_output(whole) || graph_.value(whole).constant) return false;
    if (!std::ranges::all_of(graph_.type(whole).tensor()->shape,
                             [&](const Dim& d) { return is_early(d); }))
      return false;
    std::unordered_set<ValueId> seen;
    for (const auto& [id, offset] : pieces)
      if (!made_.contains(id) || is_output(id) || graph_.value(id).constant ||
          out_.places.contains(id) || !in_same_order(id, whole) || !is_early(offset) ||
          !seen.insert(id).second)
        return false;
    for (const auto& [id, offset] : pieces) out_.places[id] = {whole, offset};
    return true;
  }

  const Graph& graph_;
  SymbolIndex symbols_;
  std::unordered_set<const ir::ExprNode*> early_;  // variables of symbols
  Parts out_;
  std::unordered_set<ValueId> made_;  // by kernels, so far
};

}  // namespace

ValueId Parts::root(ValueId id) const {
  for (auto found = places.find(id); found != places.end(); found = places.find(id))
    id = found->second.whole;
  return id;
}

Parts parts_in_place(const Graph& graph) { return Finder(graph).run(); }

Pieces stretches(const Graph& graph, SymbolIndex& symbols, const Node& node) {
  if (!is_concat(node) && !is_split(node)) return {};
  const std::vector<ValueId>& list = is_concat(node) ? node.inputs : node.outputs;
  const ValueId whole_id = is_concat(node) ? node.outputs[0] : node.inputs[0];
  const TensorType* whole = graph.type(whole_id).tensor();
  const auto axis = attr<int64_t>(node, "axis");
  if (!whole || whole->strings || ir::bits(whole->elem) < 8 || !is_outermost(*whole, axis))
    return {};
  Pieces out;
  Dim before = 0;
  for (const ValueId id : list) {
    if (id == kNoValue) return {};
    if (!is_aligned(graph, symbols, before)) return {};
    out.emplace_back(id, before);
    before = simplified(before + bytes_of(*graph.type(id).tensor()));
  }
  return out;
}

}  // namespace tilewright::graph
