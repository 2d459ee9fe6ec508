// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/definition.h"
#include "graph/dependence.h"
#include "graph/group.h"
#include "graph/group_order.h"
#include "graph/parts.h"
#include "graph/passes/passes.h"
#include "graph/symbol_nodes.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

constexpr size_t kMaxMembers = 64;
constexpr size_t kMaxInputs = 24;
/// What is computed where it is read stands there as often as it is read: x + x, of that the same,
/// and so on, doubles with each operator.
constexpr double kMaxRepeated = 2000;
/// A producer that is computed again at every read is worth it while the work done again stays
/// below that of storing and loading its elements, and of one more kernel. In additions.
constexpr double kStoreAndLoad = 12;
constexpr double kStartKernel = 2000;

/// What a group computes, as far as the rules ask.
struct GroupInfo {
  bool fusable = false;
  FusionKind kind = FusionKind::Opaque;
  Shape domain;               // of injective ones, their results; of reductions, what is reduced
  Shape result;               // of the operator that gave the group its kind
  std::vector<bool> reduced;  // of reductions: the dimensions of the domain that are no rows
  bool of_product = false;    // of reductions: the rows are those of a product in the group
};

/// The dimensions of the first input that are not simply walked through by every read of it.
std::vector<bool> reduced_dims(Graph& graph, const Node& node) {
  const std::optional<Definition> def = definition_of(graph, node);
  std::vector<bool> reduced(static_cast<size_t>(graph.type(node.inputs[0]).tensor()->rank()));
  for (const te::Stage& stage : def->stages) {
    const te::Compute* c = stage->as<te::Compute>();
    if (!c) continue;
    const auto is_axis = [&](const ir::Expr& e) {
      return std::ranges::any_of(c->axes, [&](const te::Iter& a) { return a.var == e; });
    };
    for (const ir::Expr& value : c->values)
      ir::walk(value, [&](const ir::Load& load) {
        if (load.buffer != def->inputs[0]->buffer()) return;
        for (size_t d = 0; d < reduced.size(); ++d)
          if (!is_axis(load.indices[d])) reduced[d] = true;
      });
  }
  return reduced;
}

class Fuser {
 public:
  Fuser(Graph& graph, Function& function, const std::vector<Check>& checks, FusionReport& report)
      : graph_(graph), function_(function), report_(report), order_(dependences(checks)) {
    for (const Node& n : function_.nodes) groups_.push_back(info_of(n));
    costs_.resize(function_.nodes.size());
    permutes_.resize(function_.nodes.size());
    joins_.resize(function_.nodes.size());
  }

  void run() {
    for (int n = 0; n < static_cast<int>(function_.nodes.size()); ++n) {
      int group = n;
      std::vector<int> producers;
      for (const Flow& f : flows_[static_cast<size_t>(n)]) producers.push_back(f.from);
      for (int& p : producers) p = order_.group_of(p);
      std::sort(producers.begin(), producers.end(),
                [&](int a, int b) { return order_.before(b, a); });  // the latest first
      producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
      for (const int p : producers) {
        if (order_.group_of(p) != p || p == group) continue;  // joined meanwhile
        const std::string reason = try_merge(p, group);
        if (reason.empty())
          group = p;
        else if (is_computed(*node(n).op))
          report_.push_back({name_of(last_member(p)), name_of(n), reason});
      }
    }
    rebuild();
  }

 private:
  /// A value that a node reads from another one.
  struct Flow {
    ValueId value;
    int from;
    size_t input;  // the first of the reader's that is this value
  };

  const Node& node(int n) const { return function_.nodes[static_cast<size_t>(n)]; }
  GroupInfo& info(int group) { return groups_[static_cast<size_t>(group)]; }
  const Shape& shape(ValueId id) const { return graph_.type(id).tensor()->shape; }
  int last_member(int group) const { return order_.members(group).back(); }
  std::string name_of(int n) const { return graph_.value(node(n).outputs[0]).name; }

  /// Who makes what, who reads it; gives the dependences between nodes, and symbols.
  GroupOrder dependences(const std::vector<Check>& checks) {
    Dependence dependence(graph_);
    SymbolNodes symbols(graph_, dependence, makers_, static_cast<int>(function_.nodes.size()));
    std::vector<std::vector<int>> producers;
    std::vector<int> order;
    std::vector<size_t> checked;
    std::vector<bool> followed;
    for (const Check& c : checks) dependence.symbols(c.condition, checked);
    for (const ValueId id : dependence.sources(std::move(checked), followed)) escapes_.insert(id);
    escapes_.insert(function_.outputs.begin(), function_.outputs.end());
    for (const Node& n : function_.nodes) {
      const int number = static_cast<int>(producers.size());
      const Dependence::Needs needs = dependence.needs(n);
      std::vector<int> from;
      std::vector<Flow> flows;
      std::vector<int> sizes;
      for (const ValueId id : needs.data) {
        users_[id].push_back(number);
        const auto made = makers_.find(id);
        if (made == makers_.end()) continue;
        from.push_back(made->second);
        const auto input = std::ranges::find(n.inputs, id);
        flows.push_back({id, made->second, static_cast<size_t>(input - n.inputs.begin())});
      }
      for (const ValueId id : needs.sizes) {
        const auto made = makers_.find(id);
        if (made == makers_.end()) continue;
        escapes_.insert(id);
        from.push_back(made->second);
        sizes.push_back(made->second);
      }
      const size_t known = symbols.producers().size();
      for (const int needed : symbols.needed(n, needs.symbols)) {
        from.push_back(needed);
        sizes.push_back(needed);
      }
      for (size_t s = known; s < symbols.producers().size(); ++s)
        order.push_back(static_cast<int>(function_.nodes.size() + s));
      order.push_back(number);
      std::sort(from.begin(), from.end());
      from.erase(std::unique(from.begin(), from.end()), from.end());
      producers.push_back(std::move(from));
      flows_.push_back(std::move(flows));
      data_.push_back(needs.data);
      sizes_.push_back(std::move(sizes));
      for (const ValueId id : n.outputs)
        if (id != kNoValue) makers_[id] = number;
    }
    escapes_.insert(symbols.sources().begin(), symbols.sources().end());
    producers.insert(producers.end(), symbols.producers().begin(), symbols.producers().end());
    return GroupOrder(std::move(producers), order);
  }

  GroupInfo info_of(const Node& n) {
    GroupInfo out;
    if (!is_computed(*n.op) || n.op->loops || n.op->fusion == FusionKind::Opaque) return out;
    const TensorType* first = nullptr;
    for (const ValueId id : n.outputs) {
      const TensorType* t = id == kNoValue ? nullptr : graph_.type(id).tensor();
      if (!t || t->strings || (first && !same(first->shape, t->shape))) return out;
      first = t;
    }
    out.kind = n.op->fusion;
    out.result = out.domain = first->shape;
    if (out.kind == FusionKind::Reduction) {
      if (n.inputs.empty() || n.inputs[0] == kNoValue) return out;
      out.domain = shape(n.inputs[0]);
      out.reduced = reduced_dims(graph_, n);
    }
    out.fusable = true;
    return out;
  }

  /// An empty string when the groups became one, else why not.
  std::string try_merge(int producer, int consumer) {
    const GroupInfo &p = info(producer), &c = info(consumer);
    if (!p.fusable) return str("`", node(last_member(producer)).op->name, "` stays alone");
    if (!c.fusable) return str("`", node(last_member(consumer)).op->name, "` stays alone");
    if (order_.members(producer).size() + order_.members(consumer).size() > kMaxMembers)
      return str("the group would have more than ", kMaxMembers, " operators");
    for (const int n : order_.members(consumer))
      for (const int s : sizes_[static_cast<size_t>(n)])
        if (order_.group_of(s) == producer)
          return "sizes are read from it, which must be known before the kernel starts";
    if (widens(producer, consumer)) return "others read it in the narrower type";
    if (waits(consumer)) return "its reader works later, and reads the integers instead";
    GroupInfo merged;
    if (std::string reason = rule(producer, consumer, merged); !reason.empty()) return reason;
    if (repeated(producer, consumer) > kMaxRepeated)
      return "its elements are read too often on the way, and would be computed each time";
    if (inputs_together(producer, consumer) > kMaxInputs)
      return str("the group would read more than ", kMaxInputs, " tensors");
    switch (order_.merge(producer, consumer)) {
      case GroupOrder::Outcome::Cycle:
        return "a node in between needs the one and is needed by the other";
      case GroupOrder::Outcome::TooFar:
        return str("more than ", GroupOrder::kMaxBetween, " operators stand between them");
      case GroupOrder::Outcome::Merged: break;
    }
    info(producer) = std::move(merged);
    return {};
  }

  /// Does the consumer only give the producer's result in a wider type, while others read it as it
  /// is? Then it goes to those who read it: the producer would have to store both.
  bool widens(int producer, int consumer) const {
    const std::vector<int>& members = order_.members(consumer);
    const Node& n = node(members[0]);
    if (members.size() != 1 || n.op->name != "cast") return false;
    const ir::Elem from = graph_.type(n.inputs[0]).tensor()->elem,
                   to = graph_.type(n.outputs[0]).tensor()->elem;
    return ir::is_float(from) && ir::is_float(to) && ir::bits(from) < ir::bits(to) &&
           used_elsewhere(n.inputs[0], producer, consumer);
  }

  /// Does the consumer only dequantise, for one reader that works element by element on something
  /// made later, too? That reader then loads the integers, which are smaller.
  bool waits(int consumer) {
    const std::vector<int>& members = order_.members(consumer);
    const int n = members[0];
    if (members.size() != 1 || node(n).op->name != "dequantize") return false;
    const ValueId result = node(n).outputs[0];
    const std::vector<int>& users = users_[result];
    if (users.size() != 1 || escapes_.contains(result) ||
        node(users[0]).op->fusion != FusionKind::Injective)
      return false;
    return std::ranges::any_of(flows_[static_cast<size_t>(users[0])],
                               [&](const Flow& f) { return computed_at(f.from) > computed_at(n); });
  }
  /// The node that makes what node n makes, or what it only dequantises.
  int computed_at(int n) const {
    const std::vector<Flow>& flows = flows_[static_cast<size_t>(n)];
    return node(n).op->name == "dequantize" && !flows.empty() ? flows[0].from : n;
  }

  /// The rules by the classes of operators.
  std::string rule(int producer, int consumer, GroupInfo& merged) {
    const GroupInfo &p = info(producer), &c = info(consumer);
    switch (p.kind) {
      case FusionKind::Injective: merged = c; return prologue(producer, consumer);
      case FusionKind::OutFusable:
        merged = p;
        if (c.kind == FusionKind::Reduction) return rows_of_product(producer, consumer, merged);
        if (c.kind != FusionKind::Injective)
          return "only operators that work element by element follow on it in one kernel";
        if (same(c.domain, p.domain)) return "";
        if (!permutes(consumer) || repeats(consumer) || results_used_elsewhere(producer, consumer))
          return "it has another shape";
        merged.domain = merged.result = c.domain;
        return "";
      case FusionKind::Reduction:
        if (p.of_product && c.kind == FusionKind::OutFusable &&
            product_of_rows(producer, consumer)) {
          merged = c;
          return "";
        }
        merged = p;
        return after_reduction(p, c);
      case FusionKind::Opaque: break;
    }
    return "it stays alone";
  }

  /// injective → anything: computed where it is read.
  std::string prologue(int producer, int consumer) {
    const GroupInfo& c = info(consumer);
    const double cost = group_cost(producer);
    const int last = last_member(producer);
    if (is_stretched_concat(last) && joins_in_place(last) && joins_products(last))
      return "its inputs are written to their places in it, so that it costs nothing";
    for (const int n : order_.members(consumer))
      for (const Flow& f : flows_[static_cast<size_t>(n)]) {
        if (order_.group_of(f.from) != producer) continue;
        if (joins_in_place(n)) return "it is written to its place in the result instead";
        const int reader = product_behind(n, consumer);
        if (node(reader).op->fusion == FusionKind::OutFusable && !permutes(producer))
          return str("`", node(reader).op->name, "` reads its elements many times");
        const bool fits = same(shape(f.value), c.domain);
        if (!fits && used_elsewhere(f.value, producer, consumer))
          return "others read it too, and it has another shape";
        const double count = estimate_elements(graph_, shape(f.value));
        const double reads = node(n).op->fusion == FusionKind::Reduction
                                 ? cost_of_node(n).reads[f.input]
                                 : estimate_elements(graph_, c.domain) / std::max(count, 1.0);
        if (count * (reads - 1) * cost > count * kStoreAndLoad + kStartKernel)
          return str("every element would be computed ", reads, " times");
      }
    return {};
  }

  /// Is the node a concat that costs nothing when it and what it joins stay alone? What works
  /// element by element on its result reads the inputs in their stead, unless it is joined again or
  /// nothing but products are joined, which nobody else reads.
  bool joins_in_place(int n) {
    std::optional<bool>& known = joins_[static_cast<size_t>(n)];
    if (!known) known = find_joins_in_place(n);
    return *known;
  }
  bool find_joins_in_place(int n) {
    if (!is_stretched_concat(n)) return false;
    const ValueId result = node(n).outputs[0];
    if (escapes_.contains(result)) return false;
    bool joined = false, reads_elements = false;
    for (const int user : users_[result]) {
      if (is_stretched_concat(user))
        joined = true;
      else if (node(user).op->fusion == FusionKind::Injective ||
               node(user).op->fusion == FusionKind::Reduction)
        reads_elements = true;
    }
    if (reads_elements && !joined && !joins_products(n)) return false;
    return std::ranges::all_of(node(n).inputs, [&](ValueId id) {
      const auto made = makers_.find(id);
      return made != makers_.end() && is_computed(*node(made->second).op) &&
             !escapes_.contains(id) && std::ranges::count(node(n).inputs, id) == 1;
    });
  }

  bool joins_products(int n) {
    return std::ranges::all_of(node(n).inputs, [&](ValueId id) {
      const auto made = makers_.find(id);
      return made != makers_.end() && users_[id].size() == 1 &&
             info(order_.group_of(made->second)).kind == FusionKind::OutFusable;
    });
  }

  bool is_stretched_concat(int n) {
    return node(n).op->name == "concat" &&
           !stretches(graph_, graph_.symbol_index, node(n)).pieces.empty();
  }

  /// The product of the group that reads what node n only puts into another order; n itself when
  /// there is none.
  int product_behind(int n, int group) {
    for (const ValueId id : node(n).outputs) {
      const auto users = users_.find(id);
      if (users == users_.end() || !permutes_node(n)) continue;
      for (const int user : users->second)
        if (order_.group_of(user) == group && node(user).op->fusion == FusionKind::OutFusable)
          return user;
    }
    return n;
  }

  /// Is it nothing but another order of rows, which costs nothing where they are read or written?
  bool permutes(int group) {
    return std::ranges::all_of(order_.members(group), [&](int n) { return permutes_node(n); });
  }
  bool repeats(int group) {
    return std::ranges::any_of(order_.members(group),
                               [&](int n) { return node(n).op->name == "repeat"; });
  }
  bool permutes_node(int n) {
    std::optional<bool>& known = permutes_[static_cast<size_t>(n)];
    if (!known) known = permutes_rows(graph_, node(n));
    return *known;
  }

  /// product → softmax of its rows → product that sums over them: the scores of some queries at a
  /// time, which stay in the cache.
  std::string rows_of_product(int producer, int consumer, GroupInfo& merged) {
    const GroupInfo &p = info(producer), &c = info(consumer);
    bool rows = same(c.domain, p.domain) && same(c.result, c.domain) && !c.reduced.empty();
    for (size_t d = 0; rows && d < c.reduced.size(); ++d)
      rows = c.reduced[d] == (d + 1 == c.reduced.size()) || ir::is_const(c.domain[d], 1);
    if (!rows) return "it does not work on the rows of the product";
    if (results_used_elsewhere(producer, consumer)) return "others read the product too";
    const ValueId result = node(last_member(consumer)).outputs[0];
    const auto users = users_.find(result);
    const Node* next =
        users == users_.end() || users->second.size() != 1 || escapes_.contains(result)
            ? nullptr
            : &node(users->second[0]);
    if (!next || next->op->fusion != FusionKind::OutFusable || !reads_rows(*next, result))
      return "its rows are not summed by one product";
    merged = c;
    merged.of_product = true;
    return {};
  }
  bool product_of_rows(int producer, int consumer) {
    for (const int n : order_.members(consumer))
      for (const Flow& f : flows_[static_cast<size_t>(n)])
        if (order_.group_of(f.from) == producer &&
            (node(n).op->fusion != FusionKind::OutFusable || !reads_rows(node(n), f.value) ||
             used_elsewhere(f.value, producer, consumer)))
          return false;
    return true;
  }
  bool reads_rows(const Node& product, ValueId rows) {
    if (std::ranges::count(product.inputs, rows) != 1) return false;
    const auto at = std::ranges::find(product.inputs, rows) - product.inputs.begin();
    return sums_rows_of(graph_, product, static_cast<size_t>(at));
  }
  bool results_used_elsewhere(int producer, int consumer) {
    for (const int n : order_.members(producer))
      for (const ValueId id : node(n).outputs)
        if (id != kNoValue && used_elsewhere(id, producer, consumer)) return true;
    return false;
  }

  /// reduction → what works on the same rows, or on its result.
  static std::string after_reduction(const GroupInfo& p, const GroupInfo& c) {
    if (c.kind == FusionKind::OutFusable) return "a reduction does not go before it in one kernel";
    if (c.kind == FusionKind::Injective && same(c.domain, p.result)) return {};
    if (!same(c.domain, p.domain)) return "it has another shape than what is reduced";
    if (c.kind == FusionKind::Reduction && c.reduced != p.reduced) return "it reduces other rows";
    double rows = 1, row = 1;
    for (size_t d = 0; d < p.domain.size(); ++d) {
      const double extent = static_cast<double>(ir::const_int(p.domain[d]).value_or(64));
      (p.reduced[d] ? row : rows) *= extent;
    }
    if (rows < 4 && row > 65536) return "there are too few rows to share";
    return {};
  }

  bool used_elsewhere(ValueId id, int producer, int consumer) const {
    if (escapes_.contains(id)) return true;
    const auto users = users_.find(id);
    return users != users_.end() && std::ranges::any_of(users->second, [&](int n) {
             return order_.group_of(n) != producer && order_.group_of(n) != consumer;
           });
  }

  const NodeCost& cost_of_node(int n) {
    std::optional<NodeCost>& cost = costs_[static_cast<size_t>(n)];
    if (!cost) cost = cost_of(graph_, node(n));
    return *cost;
  }
  double group_cost(int group) {
    double sum = 0;
    for (const int n : order_.members(group)) sum += cost_of_node(n).per_element;
    return sum;
  }

  /// What node n reads from outside of the two groups.
  void add_inputs(int n, int a, int b, std::vector<ValueId>& out) const {
    for (const ValueId id : data_[static_cast<size_t>(n)]) {
      if (std::ranges::find(out, id) != out.end()) continue;
      const auto made = makers_.find(id);
      if (made != makers_.end()) {
        const int group = order_.group_of(made->second);
        if (group == a || group == b) continue;
      }
      out.push_back(id);
    }
  }
  /// Tensors that a kernel would read: scalars become part of its code.
  size_t inputs_together(int a, int b) const {
    std::vector<ValueId> inputs;
    for (const int group : {a, b})
      for (const int n : order_.members(group)) add_inputs(n, a, b, inputs);
    return static_cast<size_t>(std::ranges::count_if(inputs, [&](ValueId id) {
      const Constant& c = graph_.value(id).constant;
      return !c || c->count() > 1;
    }));
  }

  /// The greatest formula of one element of the two groups, in operators.
  double repeated(int a, int b) const {
    std::vector<int> members = order_.members(a);
    members.insert(members.end(), order_.members(b).begin(), order_.members(b).end());
    std::ranges::sort(members);
    std::unordered_map<int, double> formulas;
    double most = 0;
    for (const int n : members) {
      double& formula = formulas[n] = 1;
      for (const Flow& f : flows_[static_cast<size_t>(n)])
        if (const auto from = formulas.find(f.from);
            from != formulas.end() && node(f.from).op->fusion == FusionKind::Injective)
          formula += from->second;
      most = std::max(most, formula);
    }
    return most;
  }

  void rebuild() {
    std::vector<Node> nodes;
    for (const int group : order_.order()) {
      if (static_cast<size_t>(group) >= function_.nodes.size()) continue;  // a symbol
      const std::vector<int>& members = order_.members(group);
      Node& first = function_.nodes[static_cast<size_t>(members[0])];
      if (!is_computed(*first.op)) {
        nodes.push_back(std::move(first));
        continue;
      }
      Node out{.op = &group_op(),
               .attrs = {},
               .inputs = {},
               .outputs = {},
               .bodies = {{.name = {}, .inputs = {}, .outputs = {}, .nodes = {}, .checks = {}}},
               .origin = function_.nodes[static_cast<size_t>(members.back())].origin};
      Function& body = out.bodies[0];
      for (const int n : members) {
        add_inputs(n, group, group, out.inputs);
        for (const ValueId id : node(n).outputs)
          if (id != kNoValue && (node(n).op->loops || used_elsewhere(id, group, group)))
            out.outputs.push_back(id);
      }
      if (out.outputs.empty()) continue;  // nobody reads it
      for (const int n : members) {
        body.name += str(body.name.empty() ? "" : "_", node(n).op->name);
        body.nodes.push_back(std::move(function_.nodes[static_cast<size_t>(n)]));
      }
      body.outputs = out.outputs;
      nodes.push_back(std::move(out));
    }
    function_.nodes = std::move(nodes);
  }

  Graph& graph_;
  Function& function_;
  FusionReport& report_;
  std::unordered_map<ValueId, int> makers_;
  std::unordered_map<ValueId, std::vector<int>> users_;
  std::unordered_set<ValueId> escapes_;     // results of the function, and what sizes are read from
  std::vector<std::vector<Flow>> flows_;    // by node: what it reads
  std::vector<std::vector<ValueId>> data_;  // by node: likewise
  std::vector<std::vector<int>> sizes_;     // by node: who makes what its sizes are read from
  GroupOrder order_;                        // after what dependences() fills
  std::vector<GroupInfo> groups_;           // by the number of a group
  // By node, once they are asked for.
  std::vector<std::optional<NodeCost>> costs_;
  std::vector<std::optional<bool>> permutes_, joins_;
};

void fuse_function(Graph& graph, Function& function, const std::vector<Check>& checks,
                   FusionReport& report) {
  for (Node& n : function.nodes)
    if (n.op->special == Special::Control)
      for (Function& body : n.bodies) fuse_function(graph, body, body.checks, report);
  Fuser(graph, function, checks, report).run();
}

}  // namespace

/// Puts every operator that a kernel computes into exactly one group.
///   before   %c: f32[1, 8, 4, 4] = conv(%x, %w)
///            %b: f32[1, 8, 4, 4] = add(%c, %bias)
///            %y: f32[1, 8, 4, 4] = relu(%b)
///   after    %y: f32[1, 8, 4, 4] = group(%x, %w, %bias) conv_add_relu() {
///              %c: f32[1, 8, 4, 4] = conv(%x, %w)
///              %b: f32[1, 8, 4, 4] = add(%c, %bias)
///              %y: f32[1, 8, 4, 4] = relu(%b)
///              return %y
///            }
/// By the classes of the operators:
///   injective → injective, reduction      joins where each element is computed about once (see
///                                         kStoreAndLoad), else only when nobody else reads it
///   out-fusable → injective, same shape   joins: bias, activation, residual
///   rows in another order ↔ out-fusable   joins: nothing is moved, only read or written elsewhere
///   out-fusable → softmax → out-fusable   joins when the softmax is that of the rows which the
///                                         second one sums over: attention
///   reduction → injective                 joins on its result or on the rows it reduced
///   reduction → reduction                 joins when both reduce the same dimensions of one shape
///   opaque, loops                         alone
/// Views stay outside: the plan makes aliases of them. What is read outside of a group becomes one
/// of its results. Sizes must be known before a kernel starts, so that what they are read from is
/// in another group. The context's report says why neighbours were not fused.
/// Needs: remove_dead.  Leaves: no operator of a kernel outside of a group.
Graph fuse(Graph graph, PassContext& context) {
  for (size_t i = 0; i < graph.functions.size(); ++i) {
    Function f = std::move(graph.functions[i]);
    fuse_function(graph, f, i == 0 ? graph.checks : f.checks, context.fusion);
    graph.functions[i] = std::move(f);
  }
  return graph;
}

}  // namespace tilewright::graph
