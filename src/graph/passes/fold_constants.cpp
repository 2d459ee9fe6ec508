// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/dependence.h"
#include "graph/indices.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/symbols.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kMaxBytes = int64_t{256} << 20;
/// A result may be this much larger than what it is computed from, or as large as kSmall: modules
/// should not grow by what a run makes in no time.
constexpr int64_t kMaxGrowth = 4;
constexpr int64_t kSmall = 1 << 20;
/// Sizes that follow from folded values, from which others follow…: so many times. A small file
/// could ask for thousands.
constexpr int kMaxRounds = 32;

class Folder {
 public:
  Folder(Graph& graph, const Services& services) : graph_(graph), services_(services) {}

  /// Whether something was folded.
  bool function(const Function& f) {
    bool any = false;
    for (const Node& n : f.nodes) {
      for (const Function& body : n.bodies) any = function(body) || any;
      any = node(n) || any;
    }
    return any;
  }

 private:
  bool known(ValueId id) const { return id == kNoValue || graph_.value(id).constant; }

  /// The bytes of the results, when there is something to fold and the size is right.
  bool worthwhile(const Node& n) const {
    if (std::ranges::all_of(n.outputs, [&](ValueId id) { return known(id); })) return false;
    if (!std::ranges::all_of(n.inputs, [&](ValueId id) { return known(id); })) return false;
    int64_t in = 0, out = 0;
    for (const ValueId id : n.inputs)
      if (id != kNoValue) in += static_cast<int64_t>(graph_.value(id).constant->bytes.size());
    for (const ValueId id : n.outputs) {
      if (id == kNoValue) continue;
      const TensorType* t = graph_.type(id).tensor();
      const std::optional<int64_t> count =
          t && !t->strings ? ir::const_int(elements(t->shape)) : std::nullopt;
      if (!count || *count > kMaxBytes) return false;
      out += byte_size(t->elem, *count);
    }
    return out <= kMaxBytes && (out <= kSmall || out / kMaxGrowth <= in);
  }

  bool node(const Node& n) {
    const bool view = n.op->special == Special::View;
    if ((!view && (!is_computed(*n.op) || !services_.evaluate)) || !worthwhile(n)) return false;
    if (view) {
      const Constant& from = graph_.value(n.inputs[0]).constant;
      if (from->is_strings) return false;
      Value& to = graph_.value(n.outputs[0]);
      to.constant = view_constant(from->elem, *const_dims(to.type.tensor()->shape), from->bytes,
                                  from.shared());
      return true;
    }
    if (n.op->indexed) {  // a wrong index is an error of the run
      const Call call(graph_, *n.op, n.attrs, n.inputs, n.origin, n.bodies);
      if (!has_right_indices(call, n.op->indexed(call))) return false;
    }
    const std::vector<Constant> results = services_.evaluate(graph_, n);
    if (results.empty()) return false;
    require(results.size() == n.outputs.size(), "evaluate gave another number of results");
    for (size_t i = 0; i < results.size(); ++i)
      if (n.outputs[i] != kNoValue) graph_.value(n.outputs[i]).constant = results[i];
    return true;
  }

  Graph& graph_;
  const Services& services_;
};

}  // namespace

/// Computes what depends on constants only, by the code that would compute it at run time.
///   before   %t: f32[4, 8] = transpose(%w: const f32[8, 4]) {axes = [1, 0]}
///            %y: f32[2, 8] = matmul(%x, %t)
///   after    %y: f32[2, 8] = matmul(%x, %t: const f32[4, 8])
/// Sizes read from a folded value become constants in all types. Services::evaluate may decline by
/// giving no results. Leaves what got known to remove_dead.
Graph fold_constants(Graph graph, PassContext& context) {
  Folder folder(graph, context.services);
  bool again = true;
  context.unchanged = true;
  for (int round = 0; again && round < kMaxRounds; ++round) {
    again = false;
    for (const Function& f : graph.functions) again = folder.function(f) || again;
    if (again) {
      context.unchanged = false;
      again = settle_symbols(graph);
    }
  }
  return graph;
}

}  // namespace tilewright::graph
