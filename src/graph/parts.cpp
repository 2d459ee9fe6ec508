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

bool is_concat(const Node& n) { return n.op->name == "concat"; }
bool is_split(const Node& n) { return n.op->name == "split"; }

/// Does memory begin with the axis: is every dimension outside of it 1, and is it not cut up? A
/// free batch may be 1: that is the condition. Small tensors of free rows are better made at once.
bool is_outermost(const TensorType& t, int64_t axis, ir::Expr& when) {
  const auto a = static_cast<size_t>(axis < 0 ? axis + t.rank() : axis);
  if (t.layout && a > 1) return false;
  for (size_t d = 0; d < a; ++d) {
    if (ir::is_const(t.shape[d], 1)) continue;
    if (d > 0 || t.rank() < 3 || ir::const_int(t.shape[d])) return false;
    when = ir::both(when, ir::eq(t.shape[d], 1));
  }
  return true;
}

Dim bytes_of(const TensorType& t) { return simplified(elements(t.shape) * (ir::bits(t.elem) / 8)); }

bool is_aligned(const Graph& graph, SymbolIndex& symbols, const Dim& offset, ir::Expr& when) {
  const ir::Expr rest = offset % kMemoryAlignment;
  arith::Context context;
  for (const ir::Var& var : ir::vars_of(offset)) {
    const SymbolInfo* info = symbols.with_var(graph.symbols, *var);
    require(info, "a symbol that the graph does not have");
    context.bind(var, arith::Interval{info->symbol.min, info->symbol.max});
  }
  if (context.can_prove_equal(rest, 0)) return true;
  if (!when) return false;
  when = ir::both(when, ir::eq(rest, 0));
  return true;
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
      ir::Expr when;
      if ((is_split(*n) && split(*n, node.outputs, when)) || (is_concat(*n) && concat(*n, when))) {
        if (when)
          out_.some.emplace(&node, when);
        else
          out_.nodes.insert(&node);
      }
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

  /// Does a kernel write it where the plan says, which knows its size from the inputs?
  bool is_placed(ValueId id) const {
    return !is_output(id) && !graph_.value(id).constant &&
           std::ranges::all_of(graph_.type(id).tensor()->shape,
                               [&](const Dim& d) { return is_early(d); });
  }

  /// Has it a place in memory that the plan knows before the run, itself or as a part?
  bool has_place(ValueId id) const {
    const auto part = out_.places.find(id);
    if (part == out_.places.end()) return made_.contains(id) && is_placed(id);
    return part->second.when || (is_early(part->second.offset) && has_place(part->second.whole));
  }

  bool split(const Node& n, const std::vector<ValueId>& read, ir::Expr& when) {
    const ValueId whole = n.inputs[0];
    auto [pieces, condition] = stretches(graph_, symbols_, n);
    std::erase_if(pieces,
                  [&](const auto& piece) { return !std::ranges::count(read, piece.first); });
    if (pieces.empty() || graph_.value(whole).constant) return false;
    if (condition && !has_place(whole)) return false;
    for (const auto& [id, offset] : pieces)
      if (is_output(id) || graph_.value(id).constant || !in_same_order(id, whole) ||
          (condition && !(is_early(offset) && is_placed(id))))
        return false;
    for (const auto& [id, offset] : pieces) out_.places[id] = {whole, offset, condition};
    when = condition;
    return true;
  }

  /// Its inputs are values that kernels write, each of them here and nowhere else.
  bool concat(const Node& n, ir::Expr& when) {
    const ValueId whole = n.outputs[0];
    const auto [pieces, condition] = stretches(graph_, symbols_, n);
    if (pieces.empty() || !is_placed(whole)) return false;
    std::unordered_set<ValueId> seen;
    for (const auto& [id, offset] : pieces)
      if (!made_.contains(id) || is_output(id) || graph_.value(id).constant ||
          out_.places.contains(id) || !in_same_order(id, whole) || !is_early(offset) ||
          (condition && !is_placed(id)) || !seen.insert(id).second)
        return false;
    for (const auto& [id, offset] : pieces) out_.places[id] = {whole, offset, condition};
    when = condition;
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
  for (auto found = places.find(id); found != places.end() && !found->second.when;
       found = places.find(id))
    id = found->second.whole;
  return id;
}

Parts parts_in_place(const Graph& graph) { return Finder(graph).run(); }

Stretches stretches(const Graph& graph, SymbolIndex& symbols, const Node& node) {
  if (!is_concat(node) && !is_split(node)) return {};
  const std::vector<ValueId>& list = is_concat(node) ? node.inputs : node.outputs;
  const ValueId whole_id = is_concat(node) ? node.outputs[0] : node.inputs[0];
  const TensorType* whole = graph.type(whole_id).tensor();
  const auto axis = attr<int64_t>(node, "axis");
  Stretches out;
  if (!whole || whole->strings || ir::bits(whole->elem) < 8 ||
      !is_outermost(*whole, axis, out.when))
    return {};
  Dim before = 0;
  for (const ValueId id : list) {
    if (id == kNoValue) return {};
    if (!is_aligned(graph, symbols, before, out.when)) return {};
    out.pieces.emplace_back(id, before);
    before = simplified(before + bytes_of(*graph.type(id).tensor()));
  }
  return out;
}

}  // namespace tilewright::graph
