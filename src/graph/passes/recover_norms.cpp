// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/pattern.h"

namespace tilewright::graph {
namespace {

/// A mean along all dimensions from `axis` on, kept.
struct Mean {
  ValueId of;
  int64_t axis;
};
std::optional<Mean> mean(Rewriter& r, ValueId id) {
  const Node* n = r.maker(id, "reduce_mean");
  const auto axes = n ? kept_axes(r, *n) : std::nullopt;
  if (!axes) return std::nullopt;
  const int64_t rank = r.tensor(n->inputs[0])->rank();
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != rank - static_cast<int64_t>(axes->size() - i)) return std::nullopt;
  return Mean{n->inputs[0], axes->front()};
}

/// mean of squares, plus epsilon
struct Power {
  ValueId of;  // what is squared
  int64_t axis;
  double epsilon;
};
std::optional<Power> power(Rewriter& r, ValueId id) {
  const Node* sum = inner(r, id, "add");
  const auto parts = sum ? beside_number(r, *sum) : std::nullopt;
  if (!parts || parts->second < 0 || r.uses(parts->first) != 1) return std::nullopt;
  const auto m = mean(r, parts->first);
  const auto of = m ? square_of(r, m->of) : std::nullopt;
  return of ? std::optional(Power{*of, m->axis, parts->second}) : std::nullopt;
}

/// x over the root of the mean of its squares: the quotient, or the product with the inverse.
struct Quotient {
  ValueId x;
  Power of;
};
std::optional<Quotient> quotient(Rewriter& r, const Node& n) {
  if (n.op->name == "div") {
    const Node* root = inner(r, n.inputs[1], "sqrt");
    const auto p = root ? power(r, root->inputs[0]) : std::nullopt;
    return p && p->of == n.inputs[0] ? std::optional(Quotient{n.inputs[0], *p}) : std::nullopt;
  }
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const auto under = inverse_root_of(r, n.inputs[i]);
    const auto p = under ? power(r, *under) : std::nullopt;
    if (p && p->of == n.inputs[1 - i]) return Quotient{n.inputs[1 - i], *p};
  }
  return std::nullopt;
}

ValueId one(Rewriter& r, ValueId x) {
  return r.constant(float_constant(r.tensor(x)->elem, {1}, {1}), "one");
}

AttrList norm_attrs(int64_t axis, double epsilon) { return {{"axis", axis}, {"epsilon", epsilon}}; }

/// (x - mean) over its deviation, or x over the root of its mean square.
bool normalised(Rewriter& r, const Node& n) {
  const auto q = quotient(r, n);
  if (!q || !r.tensor(q->x)) return false;
  const AttrList attrs = norm_attrs(q->of.axis, q->of.epsilon);
  if (const Node* d = r.maker(q->x, "sub"))
    if (const auto m = mean(r, d->inputs[1]); m && m->of == d->inputs[0] && m->axis == q->of.axis)
      return r.replace(n.outputs[0], r.call("layer_norm", {m->of, one(r, m->of)}, attrs));
  return r.replace(n.outputs[0], r.call("rms_norm", {q->x, one(r, q->x)}, attrs));
}

/// x * i + (bias - mean * i), where i is the inverse deviation times the scale.
bool written_as_affine(Rewriter& r, const Node& n) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* shift = inner(r, n.inputs[side], "sub");
    const Node* scaled = inner(r, n.inputs[1 - side], "mul");
    const Node* moved = shift ? inner(r, shift->inputs[1], "mul") : nullptr;
    if (!scaled || !moved) continue;
    for (const ValueId i : {scaled->inputs[0], scaled->inputs[1]}) {
      const auto x = beside(*scaled, i), average = beside(*moved, i);
      const auto m = average ? mean(r, *average) : std::nullopt;
      if (!x || !m || m->of != *x || r.uses(i) != 2) continue;
      const Node* product = r.maker(i, "mul");
      if (!product) continue;
      for (const size_t k : {size_t{0}, size_t{1}}) {
        const auto under = inverse_root_of(r, product->inputs[k]);
        const auto p = under ? power(r, *under) : std::nullopt;
        const Node* d = p ? r.maker(p->of, "sub") : nullptr;
        if (!d || p->axis != m->axis || d->inputs[0] != *x || d->inputs[1] != *average) continue;
        const ValueId scale = product->inputs[1 - k], bias = shift->inputs[0];
        if (!r.value(scale).constant || !r.value(bias).constant ||
            !same(r.value(n.outputs[0]).type, r.value(*x).type))
          continue;
        return r.replace(n.outputs[0],
                         r.call("layer_norm", {*x, scale, bias}, norm_attrs(m->axis, p->epsilon)));
      }
    }
  }
  return false;
}

/// A constant beside a normalised value, that may become its scale or bias: broadcast to it, and
/// never the other way round.
std::optional<ValueId> parameter(Rewriter& r, const Node& n, ValueId norm) {
  const auto other = beside(n, norm);
  if (!same(r.value(n.outputs[0]).type, r.value(norm).type)) return std::nullopt;
  if (!other || !r.value(*other).constant || r.value(*other).constant->is_strings)
    return std::nullopt;
  return r.tensor(*other)->rank() <= r.tensor(norm)->rank() ? other : std::nullopt;
}

/// norm(x) * c and norm(x) + c, where it has no such parameter yet.
bool with_parameters(Rewriter& r, const Node& n) {
  for (const ValueId id : {n.inputs[0], n.inputs[1]}) {
    const Node* norm = r.uses(id) == 1 ? r.maker(id) : nullptr;
    if (!norm || (norm->op->name != "layer_norm" && norm->op->name != "rms_norm")) continue;
    if (id != norm->outputs[0]) continue;
    const auto other = parameter(r, n, id);
    if (!other) continue;
    std::vector<ValueId> inputs = norm->inputs;
    const bool biased = inputs.size() > 2 && inputs[2] != kNoValue;
    if (n.op->name == "mul") {
      if (biased || number_of(r, inputs[1]) != 1.0) continue;
      inputs[1] = *other;
    } else {
      if (biased || norm->op->name == "rms_norm") continue;
      inputs.resize(3);
      inputs[2] = *other;
    }
    return r.replace(n.outputs[0], r.call(*norm->op, norm->attrs, inputs));
  }
  return false;
}

bool recover(Rewriter& r, const Node& n) {
  const std::string_view op = n.op->name;
  if (op != "mul" && op != "div" && op != "add") return false;
  if (op != "add" && normalised(r, n)) return true;
  if (op == "add" && written_as_affine(r, n)) return true;
  return op != "div" && with_parameters(r, n);
}

}  // namespace

/// Finds normalisations of rows that exporters write as several operators: layer norm, instance
/// norm (a layer norm of each channel), RMS norm, with their scale and bias.
///   before   %m = reduce_mean(%x) {axes = [-1]}
///            %d = sub(%x, %m)
///            %s = mul(%d, %d)
///            %v = reduce_mean(%s) {axes = [-1]}
///            %e = add(%v, %epsilon)
///            %r = sqrt(%e)
///            %n = div(%d, %r)
///            %a = mul(%n, %scale)
///            %y = add(%a, %bias)
///   after    %y = layer_norm(%x, %scale, %bias) {axis = -1, epsilon = 1e-5}
/// Also with the inverse root, and as x * i + (bias - mean * i), which TensorFlow writes. Real-
/// equal: the result is rounded in another order. Batch norms with constant statistics are scales,
/// which fold_scales knows.
Graph recover_norms(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, recover);
}

}  // namespace tilewright::graph
