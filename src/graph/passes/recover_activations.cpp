// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/pattern.h"

namespace tilewright::graph {
namespace {

constexpr Polynomial kNone = {}, kX = {{0, 1}};

// Arithmetic between a root and the function in it.
constexpr int kMaxSteps = 8;

/// The call of a function inside of the arithmetic before a value; null when there is not one.
const Node* function_in(Rewriter& r, ValueId id, int steps = 0) {
  const Node* n = r.maker(id);
  if (!n || steps == kMaxSteps || (steps > 0 && r.uses(id) != 1)) return nullptr;
  const std::string_view op = n->op->name;
  if (op == "erf" || op == "tanh" || op == "sigmoid" || op == "hard_sigmoid" || op == "clip")
    return n;
  if (op != "add" && op != "mul" && op != "div" && op != "sub") return nullptr;
  for (const ValueId in : {n->inputs[0], n->inputs[1]})
    if (const Node* found = function_in(r, in, steps + 1)) return found;
  return nullptr;
}

/// What the arithmetic before a value starts from: the first value that is no constant and is read
/// several times, or is made by something else.
ValueId start_of(Rewriter& r, ValueId id) {
  for (int steps = 0; steps < kMaxSteps; ++steps) {
    const Node* n = r.maker(id);
    if (!n || r.uses(id) != 1) return id;
    const std::string_view op = n->op->name;
    if (op != "add" && op != "mul" && op != "div" && op != "pow" && op != "sub") return id;
    id = number_of(r, n->inputs[0]) ? n->inputs[1] : n->inputs[0];
  }
  return id;
}

/// One activation: A + B * f(P), with polynomials of x.
struct Form {
  std::string_view function, op;
  Polynomial a, b, p;
};
constexpr double kTanh = 0.7978845608028654;  // sqrt(2 / pi)
constexpr Form kForms[] = {
    {"erf", "gelu", {{0, 0.5}}, {{0, 0.5}}, {{0, 1 / std::numbers::sqrt2}}},
    {"tanh", "gelu_tanh", {{0, 0.5}}, {{0, 0.5}}, {{0, kTanh, 0, kTanh * 0.044715}}},
    {"clip", "hard_swish", kNone, {{0, 1.0 / 6}}, {{3, 1}}},
    {"clip", "hard_sigmoid", kNone, {{1.0 / 6}}, {{3, 1}}},
};

bool clips_from_0_to_6(Rewriter& r, const Node& clip) {
  return clip.inputs.size() == 3 && number_of(r, clip.inputs[1]) == 0.0 &&
         number_of(r, clip.inputs[2]) == 6.0;
}

/// The activation of x that the node makes; nothing when it is none.
std::optional<ValueId> activation(Rewriter& r, const Node& root, const Node& f, ValueId x) {
  const TensorType* type = r.tensor(x);
  const ValueId t = f.outputs[0];
  const auto whole = with_one_function(r, root, x, t);
  const auto p = polynomial(r, f.inputs[0], x);
  if (!type || !whole || !p) return std::nullopt;
  const std::string_view name = f.op->name;
  const auto is = [&](const Polynomial& q, const Polynomial& wanted) {
    return about(q, wanted, type->elem);
  };
  if (name == "clip" && !clips_from_0_to_6(r, f)) return std::nullopt;
  for (const Form& form : kForms)
    if (form.function == name && is(whole->a, form.a) && is(whole->b, form.b) && is(*p, form.p)) {
      if (form.op != "hard_sigmoid") return r.call(form.op, {x});
      return r.call(form.op, {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
    }
  if (!is(whole->a, kNone) || !is(whole->b, kX)) return std::nullopt;
  if (name == "sigmoid" && is(*p, {{0, p->factors[1]}}))
    return r.call("swish", {x}, {{"alpha", p->factors[1]}});
  if (name == "hard_sigmoid" && is(*p, kX) && is({{attr<double>(f, "alpha")}}, {{1.0 / 6}}) &&
      attr<double>(f, "beta") == 0.5)
    return r.call("hard_swish", {x});
  return std::nullopt;
}

/// x / (1 + exp(-x))
std::optional<ValueId> swish_as_quotient(Rewriter& r, const Node& n) {
  const Node* sum = n.op->name == "div" ? inner(r, n.inputs[1], "add") : nullptr;
  const auto exp = sum ? beside_number(r, *sum) : std::nullopt;
  const Node* power = exp && exp->second == 1 ? inner(r, exp->first, "exp") : nullptr;
  if (!power) return std::nullopt;
  const ValueId x = n.inputs[0];
  const auto p = polynomial(r, power->inputs[0], x);
  if (!p || *p != Polynomial{{0, p->factors[1]}}) return std::nullopt;
  return r.call("swish", {x}, {{"alpha", -p->factors[1]}});
}

bool recover(Rewriter& r, const Node& n) {
  const std::string_view op = n.op->name;
  if (op != "mul" && op != "div" && op != "add") return false;
  const TensorType* type = r.tensor(n.outputs[0]);
  if (!type || !ir::is_float(type->elem)) return false;
  if (const auto found = swish_as_quotient(r, n)) return r.replace(n.outputs[0], *found);
  for (const ValueId in : {n.inputs[0], n.inputs[1]}) {
    const Node* f = r.uses(in) == 1 ? function_in(r, in, 1) : nullptr;
    if (!f) continue;
    for (const ValueId x : {start_of(r, f->inputs[0]), f->inputs[0]})
      if (const auto found = activation(r, n, *f, x)) return r.replace(n.outputs[0], *found);
    return false;
  }
  return false;
}

}  // namespace

/// Finds activations that exporters write as several operators: GELU with erf and with tanh,
/// swish, hard swish and hard sigmoid, whatever the order of their sums and products.
///   before   %a = div(%x, %root: const f32[] = [1.4142135])
///            %b = erf(%a)
///            %c = add(%b, %one)
///            %d = mul(%x, %c)
///            %y = mul(%d, %half)
///   after    %y = gelu(%x)
/// A pattern is proved as A + B * f(P) with polynomials A, B, P of one value; only what nobody else
/// reads is taken apart. Real-equal: sums and products are rounded in another order.
Graph recover_activations(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, recover);
}

}  // namespace tilewright::graph
