// SPDX-License-Identifier: Apache-2.0
// Puts the channels of feature maps in blocks, and chooses among the algorithms of operators, where
// that makes all kernels together faster.
//   %a: f32[1, 64, 56, 56] = group(%x, …) conv_relu() { … }
//   %b: f32[1, 64, 56, 56] = group(%a, …) conv_relu() { … }
//   ->  %a: f32[1, 64, 56, 56] blocks(16) = …, what %b reads
// Every kernel can read and write either layout, so nothing is converted by itself: a value is laid
// out once, and what that costs its producer and each consumer is asked of the cost model. The
// cheapest combination of all choices is found over the whole graph.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/call.h"
#include "graph/choices.h"
#include "graph/dependence.h"
#include "graph/layout.h"
#include "graph/op_def.h"
#include "graph/parts.h"
#include "graph/passes/passes.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

// Values of one kernel whose combinations are all asked for.
constexpr size_t kTogether = 4;
// Values of one kernel that may have a choice at all; those of others stay row-major.
constexpr size_t kChoices = 48;
constexpr double kImpossible = 1e18;

bool is_kernel(const Node& n) { return n.op->special == Special::Group || is_computed(*n.op); }

bool has_channels(const Node& n) {
  if (n.op->special != Special::Group) return n.op->channels;
  return std::ranges::any_of(n.bodies[0].nodes, [](const Node& m) { return m.op->channels; });
}

class Assignment {
 public:
  Assignment(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), parts_(parts_in_place(graph)) {
    limit_blocks();
    find_candidates();
    std::vector<CostTable> costs;
    for (const Node& n : graph_.main().nodes)
      if (is_kernel(n)) add_costs(n, costs);
    const Choices best = cheapest(vars_.size(), costs);
    for (size_t v = 0; v < vars_.size(); ++v) set(v, best.chosen[v]);
    report(best, costs);
    for (Node& n : graph_.main().nodes)
      if (is_kernel(n) && !alternatives(n).empty())  // costs take their time
        n = std::move(fastest(n).node);
  }

 private:
  /// The size of blocks that a value may have; 0: it stays row-major.
  int64_t block_of(ValueId id) const {
    const TensorType* t = graph_.type(id).tensor();
    if (!t || t->strings || t->rank() < 3 || graph_.value(id).constant || ir::bits(t->elem) < 8)
      return 0;
    int64_t places = 1;
    for (size_t d = 2; d < t->shape.size(); ++d)
      places *= std::min<int64_t>(ir::const_int(t->shape[d]).value_or(64), 1 << 20);
    const auto channels = ir::const_int(t->shape[1]);
    if (!channels || *channels == 0 || places <= 1) return 0;
    // Narrower elements are multiplied, and added up in 32 bits.
    const int64_t lanes = context_.services.vector_bits / std::max(ir::bits(t->elem), 32);
    const auto limit = limits_.find(id);
    for (const int64_t size : {lanes, lanes / 2})
      if (size >= 4 && *channels % size == 0 && (limit == limits_.end() || size <= limit->second))
        return size;
    return 0;
  }

  /// Parts lie in place in blocks of one size only: the smallest that one of them needs.
  void limit_blocks() {
    for (bool more = true; more;) {
      more = false;
      for (const auto& [id, part] : parts_.places) {
        const int64_t size = std::min(block_of(id), block_of(part.whole));
        for (const ValueId other : {id, part.whole})
          if (size > 0 && block_of(other) > size) {
            limits_[other] = size;
            more = true;
          }
      }
    }
  }

  size_t choices(const Node& n) const {
    size_t count = 0;
    for (const auto* ids : {&n.inputs, &n.outputs})
      for (const ValueId id : *ids) count += id != kNoValue && block_of(id) > 0;
    return count;
  }

  /// Values that kernels alone make and read, and that hang together with an operator on channels.
  void find_candidates() {
    const Function& main = graph_.main();
    std::unordered_map<ValueId, bool> possible, wanted;
    const auto keep = [&](ValueId id) { possible[id] = false; };
    for (const Node& n : main.nodes) {
      for (const ValueId id : n.outputs)
        if (id != kNoValue && is_kernel(n) && !n.op->loops)
          possible.try_emplace(id, block_of(id) > 0);
      if (!is_kernel(n) || n.op->loops || choices(n) > kChoices) {
        for_each_input(n, keep);
        for_each_made(n, keep);
      }
    }
    for (const ValueId id : main.outputs) keep(id);
    for (const SymbolInfo& s : graph_.symbols) {
      if (const FromElement* e = std::get_if<FromElement>(&s.source)) keep(e->value);
      if (const FromExtent* e = std::get_if<FromExtent>(&s.source)) keep(e->value);
    }
    std::unordered_map<ValueId, std::vector<const Node*>> kernels;  // that make or read a value
    std::vector<const Node*> open;
    for (const Node& n : main.nodes) {
      if (!is_kernel(n)) continue;
      for (const auto* ids : {&n.outputs, &n.inputs})
        for (const ValueId id : *ids)
          if (id != kNoValue && possible[id]) kernels[id].push_back(&n);
      if (has_channels(n)) open.push_back(&n);
    }
    while (!open.empty()) {
      const Node* n = open.back();
      open.pop_back();
      for (const auto* ids : {&n->outputs, &n->inputs})
        for (const ValueId id : *ids)
          if (id != kNoValue && possible[id] && !std::exchange(wanted[id], true))
            open.insert(open.end(), kernels[id].begin(), kernels[id].end());
    }
    for (const Node& n : main.nodes)
      for (const ValueId id : n.outputs)
        if (id != kNoValue && wanted[id]) {
          var_of_[id] = vars_.size();
          vars_.push_back(id);
        }
  }

  void set(size_t var, bool blocked) {
    TensorType type = *graph_.type(vars_[var]).tensor();
    type.layout = blocked ? channel_blocks(type.shape, block_of(vars_[var])) : nullptr;
    graph_.value(vars_[var]).type = type;
  }

  /// The cycles of the node's kernel when some of its values, by bit, are in blocks.
  double cost(const Node& n, const std::vector<size_t>& vars, size_t blocked) {
    for (size_t i = 0; i < vars.size(); ++i) set(vars[i], blocked >> i & 1);
    return fastest(n).cycles;
  }

  struct Fastest {
    Node node;
    double cycles;
  };
  /// Do its parts lie in place, all being in the same order?
  bool costs_nothing(const Node& n) const {
    if (!parts_.nodes.contains(&n) && !parts_.some.contains(&n)) return false;
    std::set<int64_t> blocks;
    for (const auto* ids : {&n.inputs, &n.outputs})
      for (const ValueId id : *ids)
        if (id != kNoValue && !graph_.value(id).constant)
          blocks.insert(channel_block(*graph_.type(id).tensor()));
    return blocks.size() == 1;
  }

  /// The node with the algorithm that takes the fewest cycles, values laid out as they are.
  Fastest fastest(const Node& n) {
    if (costs_nothing(n)) return {n, 0};
    Fastest best{n, context_.services.cycles(graph_, n).value_or(kImpossible)};
    for (Node& other : alternatives(n)) {
      const double cycles = context_.services.cycles(graph_, other).value_or(kImpossible);
      if (cycles < best.cycles) best = {std::move(other), cycles};
    }
    return best;
  }

  /// `winograd` stands for `winograd_2x2` too.
  bool left_out(std::string_view algorithm) const {
    return std::ranges::any_of(context_.skip, [&](const std::string& name) {
      return algorithm == name || algorithm.starts_with(name + "_");
    });
  }

  /// The node with another algorithm for one of its operators, for every one that may compute it.
  std::vector<Node> alternatives(const Node& n) {
    std::vector<Node> out;
    Node now = n;
    std::vector<Node*> members = {&now};
    if (n.op->special == Special::Group) {
      members.clear();
      for (Node& m : now.bodies[0].nodes) members.push_back(&m);
    }
    for (Node* m : members) {
      for (size_t a = 1; a < m->op->algorithms.size(); ++a) {
        const Algorithm& algorithm = m->op->algorithms[a];
        const Call call(graph_, *m->op, m->attrs, m->inputs, m->origin, m->bodies);
        if (!algorithm.applies || !algorithm.applies(call) || left_out(algorithm.name)) continue;
        m->algorithm = a;
        out.push_back(now);
      }
      m->algorithm = 0;
    }
    return out;
  }

  void add_costs(const Node& n, std::vector<CostTable>& costs) {
    std::vector<size_t> vars;  // results last
    for (const auto* ids : {&n.inputs, &n.outputs})
      for (const ValueId id : *ids)
        if (const auto found = var_of_.find(id);
            found != var_of_.end() && std::ranges::find(vars, found->second) == vars.end())
          vars.push_back(found->second);
    if (vars.empty()) return;
    if (vars.size() <= kTogether) {
      CostTable t{vars, {}};
      for (size_t at = 0; at < size_t{1} << vars.size(); ++at) t.table.push_back(cost(n, vars, at));
      costs.push_back(std::move(t));
      for (const size_t v : vars) set(v, false);
      return;
    }
    // Too many for all combinations: each one against the last, as if they did not know each other.
    const size_t last = vars.size() - 1, all = (size_t{1} << vars.size()) - 1;
    const double same[2] = {cost(n, vars, 0), cost(n, vars, all)};
    costs.push_back({{vars[last]}, {same[0], same[1]}});
    for (size_t i = 0; i < last; ++i)
      costs.push_back({{vars[i], vars[last]},
                       {0, cost(n, vars, size_t{1} << i) - same[0],
                        cost(n, vars, all ^ size_t{1} << i) - same[1], 0}});
    for (const size_t v : vars) set(v, false);
  }

  void report(const Choices& best, const std::vector<CostTable>& costs) {
    const size_t first = context_.layouts.size();
    for (size_t v = 0; v < vars_.size(); ++v)
      context_.layouts.push_back(
          {.value = graph_.value(vars_[v]).name, .block = best.chosen[v] ? block_of(vars_[v]) : 0});
    for (const CostTable& t : costs) {
      size_t at = 0;
      for (size_t i = 0; i < t.vars.size(); ++i)
        at |= static_cast<size_t>(best.chosen[t.vars[i]]) << i;
      for (size_t i = 0; i < t.vars.size(); ++i) {
        LayoutReason& of = context_.layouts[first + t.vars[i]];
        of.cycles += t.table[at];
        of.otherwise += t.table[at ^ size_t{1} << i];
      }
    }
  }

  Graph& graph_;
  PassContext& context_;
  const Parts parts_;                            // as if all were row-major
  std::unordered_map<ValueId, int64_t> limits_;  // of the size of blocks
  std::vector<ValueId> vars_;
  std::unordered_map<ValueId, size_t> var_of_;
};

}  // namespace

Graph assign_layouts(Graph graph, PassContext& context) {
  if (context.services.cycles) Assignment(graph, context);
  return graph;
}

}  // namespace tilewright::graph
