// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

class Dropper {
 public:
  explicit Dropper(Graph& graph) : graph_(graph) {}

  /// Whether something was dropped.
  bool function(Function& f) {
    bool any = false;
    for (Node& n : f.nodes)
      for (size_t i = 0; i < n.bodies.size(); ++i) {
        const bool drops = n.op->name == "if" && drop(n, n.bodies[i]);
        any = drops || function(n.bodies[i]) || any;
      }
    return any;
  }

 private:
  bool drop(const Node& n, Function& body) {
    const auto fails = std::ranges::find_if(
        body.checks, [](const Check& c) { return ir::is_const(c.condition, 0); });
    if (fails == body.checks.end() || body.nodes.empty()) return false;
    std::vector<Constant> results;
    for (const ValueId id : n.outputs) {
      const TensorType* t = id == kNoValue ? nullptr : graph_.type(id).tensor();
      results.push_back(id == kNoValue     ? int_constant(ir::Elem::I64, {0}, {})
                        : t && !t->strings ? nothing(*t)
                                           : nullptr);
      if (!results.back()) return false;
    }
    body.checks = {*fails};
    body.nodes.clear();
    for (size_t i = 0; i < results.size(); ++i) body.outputs[i] = add(results[i]);
    return true;
  }

  /// A tensor that nobody sees: 0 elements, or as many as the type tells. Null: too many for a
  /// module that would keep them.
  static Constant nothing(const TensorType& type) {
    constexpr int64_t kMost = 1 << 16;
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const Dim& d : type.shape) {
      shape.push_back(ir::const_int(d).value_or(0));
      if (shape.back() > kMost) return nullptr;
      count = std::min(count * shape.back(), kMost + 1);
    }
    if (count > kMost) return nullptr;
    const auto bytes = static_cast<size_t>(byte_size(type.elem, count));
    return make_constant(type.elem, std::move(shape), std::vector<std::byte>(bytes));
  }

  ValueId add(const Constant& content) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(
        {.name = str("nothing_", id), .type = content->type(), .constant = content});
    return id;
  }

  Graph& graph_;
};

}  // namespace

/// Empties a branch of an If that no run can take, because its shapes do not fit: nothing that a
/// later pass asks of its nodes would have an answer. The check that says so stays.
///   before   %y: f32[*, 128] = if(%c) {…} else {check false, "…"   …   return %b}
///   after    %y: f32[*, 128] = if(%c) {…} else {check false, "…"   return %nothing: const f32[0,
///            128]}
/// Models that serve several sizes have such branches, compiled for one of these.
Graph drop_branches(Graph graph, PassContext& context) {
  Dropper dropper(graph);
  bool any = false;
  for (Function& f : graph.functions) any = dropper.function(f) || any;
  if (any) graph = remove_dead(std::move(graph), context);
  context.unchanged = !any;
  return graph;
}

}  // namespace tilewright::graph
