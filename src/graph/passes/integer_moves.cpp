// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

/// (q - zero) * scale, with one scale and zero point for all elements.
struct Steps {
  ValueId scale, zero;
  ir::Elem elem;  // of q
};

bool is_single(Rewriter& r, ValueId id) {
  return ir::is_const(simplified(elements(r.tensor(id)->shape)), 1);
}

/// The steps that a quantize or dequantize goes by, f32 on the other side.
std::optional<Steps> steps_of(Rewriter& r, const Node& n, ValueId q) {
  const TensorType* type = r.tensor(q);
  if (!type || ir::is_float(type->elem) || ir::bits(type->elem) < 8 || ir::bits(type->elem) > 16)
    return std::nullopt;
  const ValueId zero = n.inputs.size() > 2 ? n.inputs[2] : kNoValue;
  if (r.tensor(n.inputs[1])->elem != ir::Elem::F32 || !is_single(r, n.inputs[1]) ||
      (zero != kNoValue && !is_single(r, zero)))
    return std::nullopt;
  return Steps{n.inputs[1], zero, type->elem};
}

/// The quantised value that is dequantized to this one.
struct Quantised {
  ValueId q;
  Steps steps;
  const Node* made;
};
std::optional<Quantised> quantised(Rewriter& r, ValueId id) {
  const Node* n = r.maker(id, "dequantize");
  if (!n || r.tensor(id)->elem != ir::Elem::F32) return std::nullopt;
  const auto steps = steps_of(r, *n, n->inputs[0]);
  return steps ? std::optional(Quantised{n->inputs[0], *steps, n}) : std::nullopt;
}

std::optional<double> number(Rewriter& r, ValueId id) {
  if (id == kNoValue) return 0;
  const Constant& c = r.value(id).constant;
  return c ? uniform(*c) : std::nullopt;
}

bool same(Rewriter& r, const Steps& a, const Steps& b) {
  const auto equal = [&](ValueId x, ValueId y) {
    if (x == y) return true;
    const auto m = number(r, x), n = number(r, y);
    return m && n && *m == *n;
  };
  return a.elem == b.elem && equal(a.scale, b.scale) && equal(a.zero, b.zero);
}

/// Is it known to be positive, so that order is kept, and such that x * scale / scale is x?
bool is_plain(Rewriter& r, const Steps& steps) {
  const std::optional<double> scale = number(r, steps.scale);
  return scale && *scale > 1e-30 && *scale < 1e30;
}

/// Operators whose results' elements are elements of their first inputs, or of all of them; one
/// that picks the greatest needs steps that keep their order.
struct Move {
  std::string_view op;
  bool all_inputs = false, picks_greatest = false;
  bool fewer = false;  // the result may have less elements than the input
};
constexpr std::array kMoves = {
    Move{.op = "concat", .all_inputs = true},
    Move{.op = "transpose"},
    Move{.op = "expand"},
    Move{.op = "tile"},
    Move{.op = "gather", .fewer = true},
    Move{.op = "slice", .fewer = true},
    Move{.op = "resize_nearest", .fewer = true},
    Move{.op = "max_pool", .picks_greatest = true, .fewer = true},
};
constexpr Move kView = {.op = "view"};

const Move* move_of(Rewriter& r, const Node& n) {
  if (n.outputs.size() != 1 || n.outputs[0] == kNoValue || !r.tensor(n.outputs[0])) return nullptr;
  if (n.op->special == Special::View && n.op->infer) return &kView;
  // What lies outside of a cropped picture is a number of its own.
  if (n.op->name == "resize_nearest" && attr<double>(n, "extrapolation") != 0) return nullptr;
  const auto found = std::ranges::find(kMoves, n.op->name, &Move::op);
  return found == kMoves.end() ? nullptr : &*found;
}

size_t moved_inputs(const Move& move, const Node& n) {
  return move.all_inputs ? n.inputs.size() : 1;
}

/// The same move of other values.
ValueId moved(Rewriter& r, const Move& move, const Node& n, const std::vector<ValueId>& values) {
  if (&move == &kView) return r.reshape(values[0], r.tensor(n.outputs[0])->shape);
  std::vector<ValueId> inputs = n.inputs;
  std::ranges::copy(values, inputs.begin());
  return r.call(*n.op, n.attrs, inputs);
}

/// move(dequantize(q)) → dequantize(move(q))
bool move_integers(Rewriter& r, const Node& n, const Move& move) {
  std::vector<ValueId> values;
  std::optional<Quantised> first;
  bool computed = false;
  for (size_t i = 0; i < moved_inputs(move, n); ++i) {
    const auto x = quantised(r, n.inputs[i]);
    if (!x || (first && !same(r, first->steps, x->steps))) return false;
    if (!first) first = x;
    computed = computed || !r.value(x->q).constant;
    values.push_back(x->q);
  }
  // What is constant is folded; but not a table that the run picks rows of.
  computed = computed || (n.op->name == "gather" && !r.value(n.inputs[1]).constant);
  if (!computed || (move.picks_greatest && !is_plain(r, first->steps))) return false;
  const ValueId q = moved(r, move, n, values);
  std::vector<ValueId> inputs = first->made->inputs;
  inputs[0] = q;
  return r.replace(n.outputs[0], r.call(*first->made->op, first->made->attrs, inputs));
}

/// What quantize makes of a value, made before the moves that nobody else wants the result of.
///   quantize(concat(a, b)) → concat(quantize(a), quantize(b))
ValueId quantised_early(Rewriter& r, const Node& quantize, const Steps& steps, ValueId x,
                        bool& changed) {
  if (const auto before = quantised(r, x);
      before && same(r, before->steps, steps) && is_plain(r, steps)) {
    changed = true;
    return before->q;
  }
  const Node* made = r.maker(x);
  const Move* move = made && r.uses(x) == 1 ? move_of(r, *made) : nullptr;
  if (move && !move->fewer) {
    changed = true;
    std::vector<ValueId> values;
    for (size_t i = 0; i < moved_inputs(*move, *made); ++i)
      values.push_back(quantised_early(r, quantize, steps, made->inputs[i], changed));
    return moved(r, *move, *made, values);
  }
  std::vector<ValueId> inputs = quantize.inputs;
  inputs[0] = x;
  return r.call(*quantize.op, quantize.attrs, inputs);
}

bool quantize(Rewriter& r, const Node& n) {
  const auto steps = steps_of(r, n, n.outputs[0]);
  if (!steps || r.tensor(n.inputs[0])->elem != ir::Elem::F32 ||
      attr<int64_t>(n, "precision") != static_cast<int64_t>(ir::Elem::F32))
    return false;
  bool changed = false;
  const ValueId q = quantised_early(r, n, *steps, n.inputs[0], changed);
  return changed && r.replace(n.outputs[0], q);
}

}  // namespace

/// Lets what only moves quantised values, or picks the greatest of them, work on the integers.
///   before   %a: f32[1, 8, 4, 4] = dequantize(%p: u8[1, 8, 4, 4], %s, %z)
///            %m: f32[1, 8, 2, 2] = max_pool(%a)
///            %b: f32[1, 8, 2, 2] = dequantize(%q: u8[1, 8, 2, 2], %t, %y)
///            %c: f32[1, 16, 2, 2] = concat(%m, %b)
///            %i: u8[1, 16, 2, 2] = quantize(%c, %s, %z)
///   after    %n: u8[1, 8, 2, 2] = max_pool(%p)
///            %b: f32[1, 8, 2, 2] = dequantize(%q: u8[1, 8, 2, 2], %t, %y)
///            %j: u8[1, 8, 2, 2] = quantize(%b, %s, %z)
///            %i: u8[1, 16, 2, 2] = concat(%n, %j)
/// What is quantised by the steps that it was dequantised by is what it was. Numbers stay the same.
/// Where scale and zero point are those of the whole tensor. Before integer_products, which then
/// finds the integers that its factors come from.
Graph integer_moves(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, [](Rewriter& r, const Node& n) {
    if (n.op->name == "quantize") return quantize(r, n);
    const Move* move = move_of(r, n);
    return move && move_integers(r, n, *move);
  });
}

}  // namespace tilewright::graph
