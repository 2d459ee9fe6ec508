// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

bool is_f32(const Graph& graph, ValueId id) {
  const TensorType* t = id == kNoValue ? nullptr : graph.type(id).tensor();
  return t && !t->strings && t->elem == ir::Elem::F32;
}

/// Below so many input channels of each result a convolution is bound by what it reads.
constexpr int64_t kFewChannels = 8;

/// A sum of many products, whose factors may be narrower. A convolution of a few channels is none,
/// nor is a product of two values that the run makes, as in attention. Transposed convolutions make
/// images, which several of them in a row spoil when they round.
bool is_product(const Graph& graph, const Node& n) {
  const bool conv = n.op->name == "conv";
  if ((!conv && n.op->name != "matmul") || !is_f32(graph, n.inputs[0]) ||
      !is_f32(graph, n.inputs[1]))
    return false;
  const auto is_constant = [&](size_t i) { return bool(graph.value(n.inputs[i]).constant); };
  if (!conv) return is_constant(0) || is_constant(1);
  const auto channels = ir::const_int(graph.type(n.inputs[1]).tensor()->shape[1]);
  return channels && *channels >= kFewChannels;
}

/// A convolution whose groups are a few channels: it may read narrower elements, but multiplies
/// f32.
bool is_depthwise(const Graph& graph, const Node& n) {
  return n.op->name == "conv" && attr<int64_t>(n, "group") > 1 && is_f32(graph, n.inputs[0]) &&
         is_f32(graph, n.inputs[1]) && !is_product(graph, n);
}

/// Does the result consist of elements of the inputs, whatever type they have?
bool moves(const Node& n) {
  constexpr std::string_view kMoves[] = {"transpose", "select", "slice", "concat"};
  return n.op->special == Special::View || std::ranges::count(kMoves, n.op->name) > 0;
}

/// The values that products read, also when they are moved on the way; and those that depthwise
/// convolutions read, where a kernel makes them, which can as well store them in the narrower type.
class Wanted {
 public:
  explicit Wanted(const Graph& graph) {
    for (const Function& f : graph.functions) function(graph, f);
  }
  bool contains(ValueId id) const { return wanted_.contains(id) && !kept_.contains(id); }

 private:
  void function(const Graph& graph, const Function& f) {
    // What a function gives keeps all its bits.
    kept_.insert(f.outputs.begin(), f.outputs.end());
    std::unordered_set<ValueId> made;
    for (const Node& n : f.nodes)
      if (!moves(n) || std::ranges::all_of(n.inputs, [&](ValueId id) {
            return !is_f32(graph, id) || made.contains(id);
          }))
        made.insert(n.outputs.begin(), n.outputs.end());
    for (auto n = f.nodes.rbegin(); n != f.nodes.rend(); ++n) {
      for (const Function& body : n->bodies) function(graph, body);
      if (is_product(graph, *n))
        wanted_.insert({n->inputs[0], n->inputs[1]});
      else if (is_depthwise(graph, *n) && made.contains(n->inputs[0]))
        wanted_.insert(n->inputs[0]);
      else if (moves(*n) && wanted_.contains(n->outputs[0]))
        for (const ValueId id : n->inputs)
          if (is_f32(graph, id)) wanted_.insert(id);
    }
  }

  std::unordered_set<ValueId> wanted_, kept_;
};

class Narrow {
 public:
  Narrow(const Graph& graph, ir::Elem to) : wanted_(graph), to_(to) {}

  bool operator()(Rewriter& r, const Node& n) {
    if (!n.bodies.empty() || n.outputs.size() != 1) return false;
    const ValueId old = n.outputs[0];
    std::vector<ValueId> inputs = n.inputs;
    ValueId now = kNoValue;
    if (is_product(r.graph(), n)) {
      for (const size_t i : {size_t{0}, size_t{1}}) inputs[i] = narrow(r, inputs[i]);
      now = r.call(str(n.op->name, "_to_f32"), inputs, n.attrs.list());
    } else if (is_depthwise(r.graph(), n) && widening(r, inputs[0])) {
      inputs[0] = narrow(r, inputs[0]);
      now = r.call("conv_to_f32", inputs, n.attrs.list());
    } else if (moves(n) && wanted_.contains(old)) {
      for (ValueId& id : inputs)
        if (is_f32(r.graph(), id)) id = narrow(r, id);
      return r.replace(old, widened(r, r.call(*n.op, n.attrs, inputs)));
    } else {
      // Every reader widens for itself: that costs nothing in its kernel.
      for (ValueId& id : inputs)
        if (const Node* made = widening(r, id)) id = widened(r, made->inputs[0]);
      if (inputs == n.inputs && !wanted_.contains(old)) return false;
      now = r.call(*n.op, n.attrs, inputs);
    }
    if (wanted_.contains(old) && is_f32(r.graph(), now)) now = widened(r, narrow(r, now));
    return r.replace(old, now);
  }

 private:
  /// The conversion back to f32 that makes the value, if that is how it is made.
  const Node* widening(Rewriter& r, ValueId id) const {
    const Node* made = id == kNoValue ? nullptr : r.maker(id, "cast");
    const TensorType* from = made ? r.tensor(made->inputs[0]) : nullptr;
    return from && from->elem == to_ && is_f32(r.graph(), id) ? made : nullptr;
  }

  ValueId narrow(Rewriter& r, ValueId id) {
    if (const Node* made = widening(r, id)) return made->inputs[0];
    Made& made = narrow_[id];
    if (made.value == kNoValue || !r.is_open(made.scope))
      made = {r.call("cast", {id}, {{"to", static_cast<int64_t>(to_)}}), r.scope()};
    return made.value;
  }

  ValueId widened(Rewriter& r, ValueId id) {
    return r.call("cast", {id}, {{"to", static_cast<int64_t>(ir::Elem::F32)}});
  }

  struct Made {
    ValueId value = kNoValue;
    int scope = 0;
  };
  const Wanted wanted_;
  const ir::Elem to_;
  std::unordered_map<ValueId, Made> narrow_;
};

/// Recurrent layers get narrower weights only: those are read again at every step.
void narrow_weights(Graph& graph, std::vector<Node>& nodes, ir::Elem to) {
  for (Node& n : nodes) {
    for (Function& body : n.bodies) narrow_weights(graph, body.nodes, to);
    const std::string_view op = n.op->name;
    if ((op != "lstm" && op != "gru" && op != "rnn") || !is_f32(graph, n.inputs[0]) ||
        !graph.value(n.inputs[1]).constant || !graph.value(n.inputs[2]).constant)
      continue;
    for (const size_t i : {size_t{1}, size_t{2}}) {
      const Value& old = graph.value(n.inputs[i]);
      const Constant now = float_constant(to, old.constant->shape, numbers_of(*old.constant));
      const std::string name = str(old.name, "_", ir::name(to), graph.values.size());
      n.inputs[i] = static_cast<ValueId>(graph.values.size());
      graph.values.push_back({.name = name, .type = now->type(), .constant = now});
    }
  }
}

}  // namespace

/// Lets products multiply narrower factors: sums and results stay f32. What a product reads is kept
/// in the narrower type only, for other readers too.
///   before   %c: f32[1, 64, 8, 8] = conv(%x, %w: const f32[64, 64, 1, 1])
///            %r: f32[1, 64, 8, 8] = relu(%c)
///            %y: f32[1, 64, 8, 8] = conv(%r, %v: const f32[64, 64, 1, 1])
///   after    %c: f32[1, 64, 8, 8] = conv_to_f32(%x', %w': bf16[64, 64, 1, 1])
///            %r: f32[1, 64, 8, 8] = relu(%c)
///            %r': bf16[1, 64, 8, 8] = cast(%r) {to = bf16}
///            %y: f32[1, 64, 8, 8] = conv_to_f32(%r', %v': bf16[64, 64, 1, 1])
/// Of recurrent layers the weights alone are narrower, of depthwise convolutions what they read.
/// fold_constants then casts the weights, and fuse puts the casts into the kernels around them.
/// Changes results by the rounding of factors; does nothing unless `factors` of the context say so.
Graph narrow_products(Graph graph, PassContext& context) {
  if (context.factors == ir::Elem::F32) {
    context.unchanged = true;
    return graph;
  }
  std::vector<Function> functions = std::move(graph.functions);
  for (Function& f : functions) narrow_weights(graph, f.nodes, context.factors);
  graph.functions = std::move(functions);
  Narrow rule(graph, context.factors);
  graph = Rewriter::run(std::move(graph), context,
                        [&](Rewriter& r, const Node& n) { return rule(r, n); });
  context.unchanged = false;  // weights may be others
  return graph;
}

}  // namespace tilewright::graph
