// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "graph/definition.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

using Order = std::vector<int64_t>;

constexpr size_t kMaxRegion = 64;

Order order_of(const Node& n) {
  Order order = attr<Order>(n, "axes");
  for (int64_t& a : order) a = a < 0 ? a + static_cast<int64_t>(order.size()) : a;
  return order;
}

Order inverse(const Order& order) {
  Order out(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    out[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  return out;
}

bool has_one_element(const Graph& graph, ValueId id) {
  const TensorType* t = graph.type(id).tensor();
  return t && std::ranges::all_of(t->shape, [](const Dim& d) { return ir::is_const(d, 1); });
}

/// Nodes that work element by element, and the order in which their operands come.
class Regions {
 public:
  explicit Regions(Graph& graph) : graph_(graph) {
    for (const Function& f : graph.functions) function(f);
  }

  /// The order of the region that makes the value; null when none does.
  const Order* order(ValueId made) const {
    const auto found = chosen_.find(made);
    return found == chosen_.end() ? nullptr : &found->second;
  }

 private:
  void function(const Function& f) {
    std::unordered_map<ValueId, const Node*> makers;
    std::unordered_map<ValueId, std::vector<const Node*>> users;
    std::unordered_set<ValueId> results(f.outputs.begin(), f.outputs.end());
    for (const Node& n : f.nodes) {
      for (const ValueId id : n.inputs)
        if (id != kNoValue) users[id].push_back(&n);
      for (const ValueId id : n.outputs) makers[id] = &n;
      for (const Function& body : n.bodies) {
        function(body);
        for (const Node& inner : body.nodes)
          for (const ValueId id : inner.inputs) results.insert(id);
        results.insert(body.outputs.begin(), body.outputs.end());
      }
    }
    for (const Node& n : f.nodes)
      if (n.op->name == "transpose") grow(n, makers, users, results);
  }

  using Makers = std::unordered_map<ValueId, const Node*>;
  using Users = std::unordered_map<ValueId, std::vector<const Node*>>;

  /// Looks at all that is connected with the transposed value by operators of elements, and takes
  /// it when less transposes are left if those operators work in the order before it.
  void grow(const Node& seed, const Makers& makers, const Users& users,
            const std::unordered_set<ValueId>& results) {
    const Order order = order_of(seed), back = inverse(order);
    std::vector<const Node*> region;
    std::unordered_set<const Node*> inside;
    const auto visit = [&](const Node* n) {
      if (!n || inside.contains(n) || region.size() >= kMaxRegion || !joins(*n, order.size()))
        return;
      inside.insert(n);
      region.push_back(n);
    };
    const auto visit_users = [&](ValueId id) {
      if (const auto found = users.find(id); found != users.end())
        for (const Node* user : found->second) visit(user);
    };
    visit_users(seed.outputs[0]);
    for (size_t i = 0; i < region.size(); ++i) {
      visit_users(region[i]->outputs[0]);
      for (const ValueId id : region[i]->inputs)
        if (const auto made = makers.find(id); made != makers.end()) visit(made->second);
    }
    int gain = 0;
    std::unordered_set<ValueId> seen;
    for (const Node* n : region) {
      for (const ValueId id : n->inputs) {
        if (id == kNoValue || !seen.insert(id).second) continue;
        const auto made = makers.find(id);
        const Node* maker = made == makers.end() ? nullptr : made->second;
        if (maker && inside.contains(maker)) continue;
        if (graph_.value(id).constant || has_one_element(graph_, id)) continue;
        const TensorType* t = graph_.type(id).tensor();
        if (!t || t->shape.size() != order.size()) return;
        const bool undone = maker && maker->op->name == "transpose" && order_of(*maker) == order;
        const bool only_here =
            !results.contains(id) &&
            std::ranges::all_of(users.at(id), [&](const Node* u) { return inside.contains(u); });
        gain += undone ? (only_here ? 1 : 0) : -1;
      }
      const ValueId out = n->outputs[0];
      bool needed = results.contains(out);
      if (const auto found = users.find(out); found != users.end())
        for (const Node* user : found->second) {
          if (inside.contains(user)) continue;
          if (user->op->name == "transpose" && order_of(*user) == back)
            ++gain;
          else
            needed = true;
        }
      if (needed) --gain;
    }
    if (gain <= 0) return;
    for (const Node* n : region) chosen_[n->outputs[0]] = order;
  }

  bool joins(const Node& n, size_t rank) {
    if (n.outputs.size() != 1 || n.outputs[0] == kNoValue || chosen_.contains(n.outputs[0]))
      return false;
    const TensorType* t = graph_.type(n.outputs[0]).tensor();
    if (!t || t->strings || t->shape.size() != rank || graph_.value(n.outputs[0]).constant)
      return false;
    const auto [known, is_new] = pointwise_.emplace(&n, false);
    if (is_new) known->second = is_pointwise(graph_, n);
    return known->second;
  }

  Graph& graph_;
  std::unordered_map<const Node*, bool> pointwise_;
  std::unordered_map<ValueId, Order> chosen_;
};

/// The constant with its dimensions, filled up to the rank, in the order before the transpose.
Constant permuted(const ConstantNode& c, const Order& back) {
  const size_t rank = back.size();
  std::vector<int64_t> shape(rank - c.shape.size(), 1);
  shape.insert(shape.end(), c.shape.begin(), c.shape.end());
  std::vector<int64_t> strides(rank, 1), out;
  for (size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  for (const int64_t d : back) out.push_back(shape[static_cast<size_t>(d)]);
  const size_t width = static_cast<size_t>(ir::bits(c.elem)) / 8;
  std::vector<std::byte> bytes(c.bytes.size());
  std::vector<int64_t> at(rank, 0);
  for (size_t to = 0; to * width < bytes.size(); ++to) {
    int64_t from = 0;
    for (size_t d = 0; d < rank; ++d) from += at[d] * strides[static_cast<size_t>(back[d])];
    std::memcpy(bytes.data() + to * width, c.bytes.data() + static_cast<size_t>(from) * width,
                width);
    for (size_t d = rank; d-- > 0 && ++at[d] == out[d];) at[d] = 0;
  }
  return make_constant(c.elem, out, std::move(bytes));
}

class Canceller {
 public:
  explicit Canceller(const Regions& regions) : regions_(regions) {}

  bool operator()(Rewriter& r, const Node& n) {
    if (n.op->name == "matmul") return matmul(r, n);
    const Order* order = n.outputs.empty() ? nullptr : regions_.order(n.outputs[0]);
    if (!order) return false;
    std::vector<ValueId> inputs;
    for (const ValueId id : n.inputs) inputs.push_back(before(r, id, *order));
    if (std::ranges::find(inputs, kFailed) != inputs.end()) return false;
    const ValueId now = r.call(*n.op, n.attrs, inputs);
    const ValueId then = r.call("transpose", {now}, {{"axes", *order}});
    if (!r.replace(n.outputs[0], then)) return false;
    before_[{then, *order}] = now;
    return true;
  }

 private:
  static constexpr ValueId kFailed = -2;

  /// The operand as it is before the transpose.
  ValueId before(Rewriter& r, ValueId id, const Order& order) {
    if (id == kNoValue || has_one_element(r.graph(), id)) return id;
    if (const auto found = before_.find({id, order}); found != before_.end()) return found->second;
    const Order back = inverse(order);
    if (const Constant& c = r.value(id).constant) {
      if (c->is_strings || ir::bits(c->elem) < 8) return kFailed;
      return before_[{id, order}] = r.constant(permuted(*c, back), r.value(id).name);
    }
    const Node* made = r.maker(id, "transpose");
    if (made && order_of(*made) == order) return made->inputs[0];
    return before_[{id, order}] = r.call("transpose", {id}, {{"axes", back}});
  }

  /// A transpose of the last two dimensions is an attribute; one that moves the last dimension
  /// next to the last becomes one that leaves it where it is.
  static bool matmul(Rewriter& r, const Node& n) {
    std::vector<ValueId> inputs = n.inputs;
    AttrList attrs = n.attrs.list();
    bool any = false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Node* made = r.maker(inputs[i], "transpose");
      if (!made) continue;
      Order order = order_of(*made);
      const size_t rank = order.size();
      if (rank < 2 || order[rank - 2] != static_cast<int64_t>(rank) - 1) continue;
      std::swap(order[rank - 2], order[rank - 1]);
      if (!std::ranges::is_sorted(order) && r.uses(inputs[i]) > 1) continue;
      inputs[i] = std::ranges::is_sorted(order)
                      ? made->inputs[0]
                      : r.call("transpose", {made->inputs[0]}, {{"axes", order}});
      for (NamedAttr& a : attrs)
        if (a.name == (i == 0 ? "trans_a" : "trans_b"))
          a.value = int64_t{std::get<int64_t>(a.value) == 0};
      any = true;
    }
    return any && r.replace(n.outputs[0], r.call("matmul", inputs, attrs));
  }

  const Regions& regions_;
  /// Values by what they are before a transpose into the order.
  std::map<std::pair<ValueId, Order>, ValueId> before_;
};

}  // namespace

/// Lets operators of single elements work in the order that their operands have before a
/// transpose, where less transposes are left then, and gives transposes to products.
///   before   %a: f32[1, 8, 8, 4] = transpose(%x) {axes = [0, 2, 3, 1]}
///            %b: f32[1, 8, 8, 4] = add(%a, %c: const f32[4])
///            %y: f32[1, 4, 8, 8] = transpose(%b) {axes = [0, 3, 1, 2]}
///   after    %b: f32[1, 4, 8, 8] = add(%x, %c: const f32[1, 4, 1, 1])
///            %t: f32[1, 8, 8, 4] = transpose(%b) {axes = [0, 2, 3, 1]}
///            %y: f32[1, 4, 8, 8] = transpose(%t) {axes = [0, 3, 1, 2]}
/// Leaves pairs of transposes to simplify_algebra.
Graph cancel_transposes(Graph graph, PassContext& context) {
  const Regions regions(graph);
  Canceller cancel(regions);
  return Rewriter::run(std::move(graph), context,
                       [&](Rewriter& r, const Node& n) { return cancel(r, n); });
}

}  // namespace tilewright::graph
