// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

/// A tensor [..., heads / times, rows, columns] that stands for one of `heads`; `turned`: for that
/// with the last two dimensions exchanged.
struct Shared {
  ValueId of;
  Shape shape;
  int64_t times;
  bool turned;
};

bool same_ends(const Shape& a, const Shape& b) {
  return a.size() >= 2 && b.size() >= 2 && same(a[a.size() - 1], b[b.size() - 1]) &&
         same(a[a.size() - 2], b[b.size() - 2]);
}

bool turns_ends(const Node& n) {
  const auto axes = attr<std::vector<int64_t>>(n, "axes");
  const int64_t rank = std::ssize(axes);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t from = axes[static_cast<size_t>(d)];
    const int64_t wanted = d == rank - 1 ? rank - 2 : d == rank - 2 ? rank - 1 : d;
    if ((from < 0 ? from + rank : from) != wanted) return false;
  }
  return rank >= 2;
}

/// expand of [..., heads, 1, rows, columns] to [..., heads, times, rows, columns]
std::optional<Shared> expanded(Rewriter& r, const Node& n, bool turned) {
  const Shape &from = r.tensor(n.inputs[0])->shape, &to = r.tensor(n.outputs[0])->shape;
  if (from.size() != to.size() || from.size() < 4) return std::nullopt;
  const size_t at = from.size() - 3;
  const std::optional<int64_t> times = ir::const_int(to[at]);
  if (!ir::is_const(from[at], 1) || !times || *times < 2) return std::nullopt;
  for (size_t d = 0; d < from.size(); ++d)
    if (d != at && !same(from[d], to[d])) return std::nullopt;
  Shape shape = from;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
  return Shared{n.inputs[0], std::move(shape), *times, turned};
}

std::optional<Shared> shared(Rewriter& r, ValueId id) {
  bool turned = false;
  while (const Node* n = r.maker(id)) {
    if (n->op->name == "expand") return expanded(r, *n, turned);
    const TensorType* in =
        n->inputs.empty() || n->inputs[0] == kNoValue ? nullptr : r.tensor(n->inputs[0]);
    const bool view =
        n->op->special == Special::View && in && same_ends(in->shape, r.tensor(id)->shape);
    const bool turn = n->op->name == "transpose" && turns_ends(*n);
    if (!view && !turn) return std::nullopt;
    turned = turned != turn;
    id = n->inputs[0];
  }
  return std::nullopt;
}

bool share(Rewriter& r, const Node& n) {
  if (n.op->name != "matmul") return false;
  const TensorType* b = r.tensor(n.inputs[1]);
  if (!b || b->rank() < 3) return false;
  const std::optional<Shared> s = shared(r, n.inputs[1]);
  if (!s || s->shape.size() != b->shape.size()) return false;
  const size_t head = b->shape.size() - 3;
  const auto heads = ir::const_int(b->shape[head]), fewer = ir::const_int(s->shape[head]);
  if (!heads || !fewer || *heads != *fewer * s->times) return false;
  for (size_t d = 0; d < head; ++d)
    if (!same(b->shape[d], s->shape[d])) return false;
  AttrList attrs = n.attrs.list();
  for (NamedAttr& a : attrs)
    if (a.name == "trans_b" && s->turned) a.value = std::get<int64_t>(a.value) == 0 ? 1 : 0;
  std::vector<ValueId> inputs = n.inputs;
  inputs[1] = r.call("repeat", {r.reshape(s->of, s->shape)},
                     {{"axis", static_cast<int64_t>(head)}, {"times", s->times}});
  return r.replace(n.outputs[0], r.call("matmul", inputs, attrs));
}

}  // namespace

/// Lets products of heads that share a key read it where it lies, by an index, instead of a copy
/// for each head: `repeat` is part of their kernels.
///   before   %e = expand(%k: f32[b, 2, 1, n, 64]) -> f32[b, 2, 4, n, 64]
///            %t = transpose(reshape(%e) -> f32[b, 8, n, 64]) {axes = [0, 1, 3, 2]}
///            %s = matmul(%q, %t)
///   after    %r = repeat(reshape(%k) -> f32[b, 2, n, 64]) {axis = 1, times = 4}
///            %s = matmul(%q, %r) {trans_b = 1}
/// Needs:  nothing.
/// Leaves: the same numbers, bit for bit.
Graph share_heads(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, share);
}

}  // namespace tilewright::graph
