// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

/// Elements first … first + count - 1 of the last dimension of a value.
struct Part {
  ValueId of;
  int64_t first, count;
};

std::optional<int64_t> last_extent(Rewriter& r, ValueId id) {
  const TensorType* t = r.tensor(id);
  return t && t->rank() > 0 ? ir::const_int(t->shape.back()) : std::nullopt;
}

std::optional<int64_t> only_int(Rewriter& r, const Node& n, size_t i) {
  const Constant c =
      i < n.inputs.size() && n.inputs[i] != kNoValue ? r.value(n.inputs[i]).constant : Constant();
  return c && c->count() == 1 ? std::optional(int_at(*c, 0)) : std::nullopt;
}

std::optional<Part> split_part(Rewriter& r, const Node& n, ValueId id) {
  const int64_t rank = r.tensor(n.inputs[0])->rank(), axis = attr<int64_t>(n, "axis");
  if ((axis < 0 ? axis + rank : axis) != rank - 1) return std::nullopt;
  int64_t first = 0;
  for (const ValueId out : n.outputs) {
    const std::optional<int64_t> extent = out == kNoValue ? std::nullopt : last_extent(r, out);
    if (!extent) return std::nullopt;
    if (out == id) return Part{n.inputs[0], first, *extent};
    first += *extent;
  }
  return std::nullopt;
}

/// slice(x, start, end, axis[, 1])
std::optional<Part> slice_part(Rewriter& r, const Node& n, ValueId id) {
  const int64_t rank = r.tensor(n.inputs[0])->rank();
  const auto start = only_int(r, n, 1), axis = only_int(r, n, 3);
  const bool steps = n.inputs.size() > 4 && n.inputs[4] != kNoValue && only_int(r, n, 4) != 1;
  const auto whole = last_extent(r, n.inputs[0]), count = last_extent(r, id);
  if (!start || !axis || steps || !whole || !count) return std::nullopt;
  if ((*axis < 0 ? *axis + rank : *axis) != rank - 1) return std::nullopt;
  return Part{n.inputs[0], *start < 0 ? *start + *whole : *start, *count};
}

/// select(x)[…, n] seen as […, a, b] → select(x seen as […, parts, a, b])
bool below_select(Rewriter& r, const Node& n, const Node& select) {
  const Shape whole = r.tensor(select.inputs[0])->shape, out = r.tensor(n.outputs[0])->shape;
  const size_t leading = whole.size() - 2;
  if (attr<int64_t>(select, "axis") != static_cast<int64_t>(leading) || out.size() <= leading)
    return false;
  for (size_t d = 0; d < leading; ++d)
    if (!same(whole[d], out[d])) return false;
  Shape parts(whole.begin(), whole.end() - 1);
  parts.insert(parts.end(), out.begin() + static_cast<long>(leading), out.end());
  const ValueId seen = r.reshape(select.inputs[0], parts);
  return r.replace(n.outputs[0], r.call(*select.op, select.attrs, {seen}));
}

bool index(Rewriter& r, const Node& n) {
  if (n.op->special != Special::View || !r.tensor(n.outputs[0])) return false;
  const ValueId id = n.inputs[0];
  const Node* made = r.uses(id) == 1 ? r.maker(id) : nullptr;
  if (!made || !r.tensor(id)) return false;
  if (made->op->name == "select") return below_select(r, n, *made);
  const auto part = made->op->name == "split"   ? split_part(r, *made, id)
                    : made->op->name == "slice" ? slice_part(r, *made, id)
                                                : std::nullopt;
  if (!part || part->first < 0 || part->count < 1) return false;
  const Shape whole = r.tensor(part->of)->shape, out = r.tensor(n.outputs[0])->shape;
  const std::optional<int64_t> all = ir::const_int(whole.back());
  const size_t leading = whole.size() - 1;
  if (!all || *all % part->count != 0 || part->first % part->count != 0 ||
      part->first + part->count > *all || out.size() <= whole.size())
    return false;
  for (size_t d = 0; d < leading; ++d)
    if (!same(whole[d], out[d])) return false;
  Shape parts(whole.begin(), whole.end() - 1);
  parts.push_back(Dim(*all / part->count));
  parts.insert(parts.end(), out.begin() + static_cast<long>(leading), out.end());
  const ValueId seen = r.reshape(part->of, parts);
  const AttrList attrs = {{"axis", static_cast<int64_t>(leading)},
                          {"index", part->first / part->count}};
  return r.replace(n.outputs[0], r.call("select", {seen}, attrs));
}

}  // namespace

/// Takes equal parts of the last dimension that are cut into heads by an index of the whole, which
/// kernels fuse with what reads it: the parts are never copied.
///   before   %q: f32[1, 8, 64], %k, %v = split(%x: f32[1, 8, 192]) {axis = -1, outputs = 3}
///            %h: f32[1, 8, 4, 16] = reshape(%q, [1, 8, 4, 16])
///   after    %p: f32[1, 8, 3, 4, 16] = reshape(%x, [1, 8, 3, 4, 16])
///            %h: f32[1, 8, 4, 16] = select(%p) {axis = 2, index = 0}
Graph index_parts(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, index);
}

}  // namespace tilewright::graph
