// SPDX-License-Identifier: Apache-2.0
// Where in the arena values lie.
#include <algorithm>

#include "driver/arena_text.h"
#include "driver/planner.h"
#include "graph/memory.h"

namespace tilewright::driver {

using namespace graph;

namespace {

/// Calls f with every value that the node or a body of it reads.
template <class F>
void for_each_use(const Node& node, F&& f) {
  for (const graph::ValueId id : node.inputs)
    if (id != kNoValue) f(id);
  for (const Function& body : node.bodies) {
    for (const Node& inner : body.nodes) for_each_use(inner, f);
    for (const graph::ValueId id : body.outputs)
      if (id != kNoValue) f(id);
  }
}

/// Calls f with every value whose memory a result of If or Loop may take over: what a branch hands
/// through, and what a loop without iterations starts from.
template <class F>
void for_each_shared(const Node& node, F&& f) {
  if (node.op->special == Special::View) f(node.inputs[0]);
  if (node.op->special != Special::Control) return;
  for (const graph::ValueId id : node.inputs)
    if (id != kNoValue) f(id);
  for (const Function& body : node.bodies) {
    for (const Node& inner : body.nodes) for_each_shared(inner, f);
    for (const graph::ValueId id : body.outputs)
      if (id != kNoValue) f(id);
  }
}

bool is_output(const Function& main, graph::ValueId id) {
  return std::find(main.outputs.begin(), main.outputs.end(), id) != main.outputs.end();
}

}  // namespace

/// Which values of the main function live from which node to which, and places for those whose
/// size follows from the inputs. A view lives in the value that it looks at, a part in its whole,
/// which begins with the first of them; a part that is one for some sizes only, in both.
void Planner::lifetimes(const Function& main) {
  std::unordered_map<ValueId, int> first;
  std::unordered_map<ValueId, ValueId> roots;
  const auto root = [&](ValueId id) {
    for (auto found = roots.end();; id = found->second) {
      id = kernels_.parts.root(id);
      found = roots.find(id);
      if (found == roots.end()) return id;
    }
  };
  const std::map<ValueId, Part>& places = kernels_.parts.places;
  const auto live = [&](ValueId id, int from, int to) {
    for (id = root(id);; id = root(places.at(id).whole)) {
      if (from >= 0) first.emplace(id, from);
      last_[id] = std::max(last_[id], to);
      if (!places.contains(id)) return;
    }
  };
  const int end = static_cast<int>(main.nodes.size());
  for (int i = 0; i < end; ++i) {
    const Node& node = main.nodes[static_cast<size_t>(i)];
    for_each_use(node, [&](ValueId id) { live(id, -1, i); });
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      if (node.op->special == Special::View) roots[id] = root(node.inputs[0]);
      live(id, i, i);
    }
  }
  // What a symbol is read from must be there for whoever asks first: until the end.
  for (const SymbolInfo& s : graph_.symbols) {
    if (const FromElement* e = std::get_if<FromElement>(&s.source)) live(e->value, -1, end);
    if (const FromExtent* e = std::get_if<FromExtent>(&s.source)) live(e->value, -1, end);
  }
  for (const ValueId id : main.outputs) live(id, -1, end);
  for (auto node = main.nodes.rbegin(); node != main.nodes.rend(); ++node) {
    if (node->op->special != Special::Control) continue;
    int last = 0;
    for (const ValueId id : node->outputs)
      if (id != kNoValue) last = std::max(last, last_[root(id)]);
    for_each_shared(*node, [&](ValueId id) { live(id, -1, last); });
  }
  std::vector<ArenaItem> items;
  for (const Node& node : main.nodes) {
    if (!by_kernel(node)) continue;
    for (const ValueId id : node.outputs) {
      const TensorType* t = id == kNoValue ? nullptr : graph_.type(id).tensor();
      if (!t || graph_.value(id).constant || is_output(main, id) || root(id) != id) continue;
      const Dim count = graph::elements(t->shape);
      if (!ir::const_int(count) && !is_early(t->shape)) continue;
      Dim bytes = ir::ceil_div(count * ir::bits(t->elem), 8);
      if (const auto part = places.find(id); part != places.end())
        bytes = ir::select(part->second.when, 0, bytes);
      items.push_back({id, simplified(bytes), first[id], last_[id]});
    }
  }
  if (!share_memory_)
    for (ArenaItem& item : items) item.first = 0, item.last = end;
  place(items);
}

/// A formula for each offset: the greatest end of what lies below, ends rounded up.
void Planner::place(const std::vector<ArenaItem>& items) {
  const ArenaPlan arena = plan_arena(graph_, items);
  const Reg nothing = plan_.constant(0);
  // Known numbers are computed here, others when the sizes are.
  struct Known {
    Reg reg;
    std::optional<int64_t> value;
  };
  const auto greater = [&](const Known& a, const Known& b) -> Known {
    if (a.value && b.value) return *a.value < *b.value ? b : a;
    if (a.value == 0) return b;
    return {b.value == 0 ? a.reg : plan_.op(PlanOp::Max, a.reg, b.reg), {}};
  };
  const auto sum = [&](const Known& offset, const Dim& bytes) -> Known {
    const std::optional<int64_t> known = ir::const_int(bytes);
    if (known && offset.value)
      return {plan_.constant(*offset.value + *known), *offset.value + *known};
    if (offset.value == 0) return {symbols_.reg(bytes), {}};
    return {plan_.op(PlanOp::Add, offset.reg, symbols_.reg(bytes)), {}};
  };
  std::unordered_map<ValueId, Known> own;  // and of parts, once they are found
  std::vector<Known> ends(items.size());
  Known all{nothing, 0};
  for (const int i : arena.places.order) {
    const auto at = static_cast<size_t>(i);
    Known offset{nothing, 0};
    for (const int below : arena.places.below[at])
      offset = greater(offset, ends[static_cast<size_t>(below)]);
    const Dim size = simplified(ir::ceil_div(items[at].bytes, kMemoryAlignment) * kMemoryAlignment);
    ends[at] = sum(offset, size);
    own.emplace(items[at].value, offset);
    all = greater(all, ends[at]);
  }
  // A whole may be a part itself, and several are parts of one.
  std::unordered_set<ValueId> found;
  const auto place_of = [&](auto& self, ValueId id) -> const Known* {
    const auto part = kernels_.parts.places.find(id);
    if (part == kernels_.parts.places.end() || found.contains(id)) {
      const auto known = own.find(id);
      return known == own.end() ? nullptr : &known->second;
    }
    const auto& [whole, within, when] = part->second;
    const Known* outer = self(self, whole);
    const bool has_place = outer && symbols_.is_early(within);
    require(has_place || !when, "a part for some sizes lies in a place that the plan knows");
    if (!has_place) return nullptr;
    const Known inside = sum(*outer, within);
    found.insert(id);
    if (!when) return &own.emplace(id, inside).first->second;
    Known& mine = own.at(id);
    mine = {plan_.select(symbols_.reg(when), inside.reg, mine.reg), {}};
    return &mine;
  };
  for (const auto& [id, part] : kernels_.parts.places) place_of(place_of, id);
  for (const auto& [id, offset] : own) arena_[id] = offset.reg;
  arena_bytes_ = all.reg;
  arena_most_ = arena.most;
  plan_.set_live_bytes(arena.worst_bytes, arena.worst_live_bytes);
  plan_.set_arena_texts(arena_texts(graph_, items, arena.places));
}

}  // namespace tilewright::driver
