// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/pattern.h"

namespace tilewright::graph {
namespace {

/// A value times a number, which nobody else reads.
struct Scaled {
  ValueId of;
  double by;
};
std::optional<Scaled> scaled(Rewriter& r, ValueId id) {
  if (const Node* n = inner(r, id, "mul"))
    if (const auto parts = beside_number(r, *n);
        parts && r.tensor(parts->first) && same(r.value(parts->first).type, r.value(id).type))
      return Scaled{parts->first, parts->second};
  if (const Node* n = inner(r, id, "div"))
    if (const auto by = number_of(r, n->inputs[1]);
        by && *by != 0 && same(r.value(n->inputs[0]).type, r.value(id).type))
      return Scaled{n->inputs[0], 1 / *by};
  return std::nullopt;
}

AttrList times_alpha(const Node& product, double by) {
  AttrList attrs = product.attrs.list();
  for (NamedAttr& a : attrs)
    if (a.name == "alpha") a.value = std::get<double>(a.value) * by;
  return attrs;
}

bool is_float_product(Rewriter& r, const Node& n) {
  const TensorType* type = n.op->name == "matmul" ? r.tensor(n.outputs[0]) : nullptr;
  return type && ir::is_float(type->elem);
}

/// matmul(q * a, k * b) → alpha * q k
bool scales_of_operands(Rewriter& r, const Node& n) {
  if (!is_float_product(r, n)) return false;
  std::vector<ValueId> inputs = n.inputs;
  double by = 1;
  for (const size_t i : {size_t{0}, size_t{1}})
    if (const auto s = scaled(r, inputs[i])) {
      inputs[i] = s->of;
      by *= s->by;
    }
  if (inputs == n.inputs) return false;
  return r.replace(n.outputs[0], r.call(*n.op, attrs_from_list(*n.op, times_alpha(n, by)), inputs));
}

/// matmul(q, k) * a → alpha * q k, where the weights are not constant: fold_scales has those.
bool scale_of_result(Rewriter& r, const Node& n) {
  const bool product = n.op->name == "mul";
  if (!product && n.op->name != "div") return false;
  const auto parts = product ? beside_number(r, n) : std::nullopt;
  const ValueId of = parts ? parts->first : n.inputs[0];
  const auto by = parts ? std::optional(parts->second) : number_of(r, n.inputs[1]);
  const Node* made = by && *by != 0 ? inner(r, of, "matmul") : nullptr;
  if (!made || !is_float_product(r, *made) || (made->inputs.size() > 2 && made->inputs[2] >= 0))
    return false;
  const double alpha = product ? *by : 1 / *by;
  const AttrList attrs = times_alpha(*made, alpha);
  return r.replace(n.outputs[0],
                   r.call(*made->op, attrs_from_list(*made->op, attrs), made->inputs));
}

/// reshape(transpose(reshape(x))), where the outer two dimensions are one while the inner two
/// change places.
///   x[b, h, s, d] → [b * h, s, d] → [b * h, d, s] → [b, h, d, s]
bool transpose_of_stacks(Rewriter& r, const Node& n) {
  if (n.op->special != Special::View || !r.tensor(n.outputs[0])) return false;
  const Node* turned = inner(r, n.inputs[0], "transpose");
  const Node* joined = turned ? r.maker(turned->inputs[0]) : nullptr;
  if (!joined || joined->op->special != Special::View || !r.tensor(joined->inputs[0])) return false;
  if (attr<std::vector<int64_t>>(*turned, "axes") != std::vector<int64_t>{0, 2, 1}) return false;
  const ValueId x = joined->inputs[0];
  const Shape &from = r.tensor(x)->shape, &middle = r.tensor(turned->inputs[0])->shape;
  const size_t rank = from.size();
  if (rank < 3 || middle.size() != 3 || !same(from[rank - 2], middle[1]) ||
      !same(from[rank - 1], middle[2]))
    return false;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  std::swap(axes[rank - 2], axes[rank - 1]);
  const TensorType& to = *r.tensor(n.outputs[0]);
  if (to.shape.size() != rank) return false;
  for (size_t d = 0; d < rank; ++d)
    if (!same(to.shape[d], from[static_cast<size_t>(axes[d])])) return false;
  return r.replace(n.outputs[0], r.call("transpose", {x}, {{"axes", axes}}));
}

}  // namespace

/// Brings attention as exporters write it into one form: scales of queries, keys and scores into
/// the product, transposes of stacked keys into one transpose, which cancel_transposes then gives
/// to the product.
///   before   %q = mul(%a, %c: const f32[1])
///            %k = mul(%b, %c: const f32[1])
///            %s = matmul(%q, %k)
///   after    %s = matmul(%a, %b) {alpha = c * c}
/// `fuse` makes one kernel of what is left: product, mask, softmax, product. Real-equal: numbers
/// are scaled after the sum and not before.
/// Needs: recover_softmax.
Graph recover_attention(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, [](Rewriter& r, const Node& n) {
    return scales_of_operands(r, n) || scale_of_result(r, n) || transpose_of_stacks(r, n);
  });
}

}  // namespace tilewright::graph
