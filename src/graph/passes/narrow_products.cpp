// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
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

/// The values that nobody reads but products and depthwise convolutions, also when they are moved
/// on the way: those exist in the narrower type only.
class OnlyFactors {
 public:
  explicit OnlyFactors(const Graph& graph) {
    for (const Function& f : graph.functions) function(graph, f);
  }
  bool contains(ValueId id) const { return read_.contains(id) && !kept_.contains(id); }

 private:
  void function(const Graph& graph, const Function& f) {
    kept_.insert(f.outputs.begin(), f.outputs.end());  // what a function gives keeps all its bits
    for (auto n = f.nodes.rbegin(); n != f.nodes.rend(); ++n) {
      for (const Function& body : n->bodies) function(graph, body);
      const bool moved = moves(*n) && contains(n->outputs[0]);
      for (size_t i = 0; i < n->inputs.size(); ++i) {
        const bool factor = (is_product(graph, *n) && i < 2) || (is_depthwise(graph, *n) && i == 0);
        (factor || moved ? read_ : kept_).insert(n->inputs[i]);
      }
    }
  }

  std::unordered_set<ValueId> read_, kept_;
};

class Narrow {
 public:
  Narrow(const Graph& graph, ir::Elem to) : only_factors_(graph), to_(to) {}

  bool operator()(Rewriter& r, const Node& n) {
    if (!n.bodies.empty() || n.outputs.size() != 1) return false;
    const ValueId old = n.outputs[0];
    std::vector<ValueId> inputs = n.inputs;
    if (is_product(r.graph(), n)) {
      for (const size_t i : {size_t{0}, size_t{1}}) inputs[i] = narrow(r, inputs[i]);
      return r.replace(old, r.call(str(n.op->name, "_to_f32"), inputs, n.attrs.list()));
    }
    if (is_depthwise(r.graph(), n) && only_factors_.contains(inputs[0]) &&
        made_here(r, inputs[0])) {
      inputs[0] = narrow(r, inputs[0]);
      return r.replace(old, r.call("conv_to_f32", inputs, n.attrs.list()));
    }
    if (moves(n) && only_factors_.contains(old) && std::ranges::all_of(inputs, [&](ValueId id) {
          return id == kNoValue || !is_f32(r.graph(), id) || made_here(r, id);
        })) {
      for (ValueId& id : inputs)
        if (is_f32(r.graph(), id)) id = narrow(r, id);
      return r.replace(old, widened(r, r.call(*n.op, n.attrs, inputs)));
    }
    return false;
  }

 private:
  /// Is the value computed, also when it is moved afterwards? Others would be read once more.
  static bool made_here(Rewriter& r, ValueId id) {
    const Node* made = r.maker(id);
    while (made && moves(*made)) made = r.maker(made->inputs[0]);
    return made;
  }

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
  const OnlyFactors only_factors_;
  const ir::Elem to_;
  std::unordered_map<ValueId, Made> narrow_;
};

/// Recurrent layers get narrower weights only: those are read again at every step.
void narrow_weights(Graph& graph, std::vector<Node>& nodes, ir::Elem to) {
  for (Node& n : nodes) {
    for (Function& body : n.bodies) narrow_weights(graph, body.nodes, to);
    const std::string_view op = n.op->name;
    if ((op != "lstm" && op != "gru" && op != "rnn") ||
        !std::ranges::all_of(std::array{0, 1, 2},
                             [&](size_t i) { return is_f32(graph, n.inputs[i]); }) ||
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

/// Lets products multiply narrower factors: sums and results stay f32. Only what a product reads is
/// rounded: others read the value as it was made.
///   before   %c: f32[1, 64, 8, 8] = conv(%x, %w: const f32[64, 64, 1, 1])
///            %r: f32[1, 64, 8, 8] = relu(%c)
///            %y: f32[1, 64, 8, 8] = conv(%r, %v: const f32[64, 64, 1, 1])
///   after    %c: f32[1, 64, 8, 8] = conv_to_f32(%x', %w': bf16[64, 64, 1, 1])
///            %r: f32[1, 64, 8, 8] = relu(%c)
///            %r': bf16[1, 64, 8, 8] = cast(%r) {to = bf16}
///            %y: f32[1, 64, 8, 8] = conv_to_f32(%r', %v': bf16[64, 64, 1, 1])
/// The kernel that makes %r stores %r' alone, or both when others read %r.
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
