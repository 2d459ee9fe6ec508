// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "ir/scalar.h"

namespace tilewright::graph {
namespace {

constexpr int kDeepest = 12;
/// A positive factor of what they are given is one of what they give.
constexpr std::string_view kLinear[] = {"relu", "average_pool", "reduce_mean", "reduce_sum"};
constexpr int64_t kMostNumbers = 1 << 20;

ValueId number(Rewriter& r, double value) {
  return r.constant(float_constant(ir::Elem::F32, {}, {value}));
}

bool is_integer(ir::Elem elem) { return !ir::is_float(elem) && ir::bits(elem) >= 8; }

/// The only number of a constant that works as a scale.
std::optional<double> scale_of(Rewriter& r, ValueId id) {
  const Constant& c = r.value(id).constant;
  if (!c || c->elem != ir::Elem::F32 || c->count() != 1) return std::nullopt;
  const double scale = number_at(*c, 0);
  return scale > 1e-30 && scale < 1e30 ? std::optional(scale) : std::nullopt;
}

/// A value times a factor, which goes into the constants that it is computed with. Where there is
/// none it is multiplied, and counted.
class Scaled {
 public:
  Scaled(Rewriter& r, double factor) : r_(r), factor_(factor) {}

  ValueId operator()(ValueId x, int depth = 0) {
    if (const Constant& c = r_.value(x).constant; c && c->count() <= kMostNumbers)
      return constant(*c);
    const Node* n = depth < kDeepest ? r_.maker(x) : nullptr;
    if (n && n->op->name == "dequantize")
      if (const ValueId y = dequantized(*n); y != kNoValue) return y;
    if (n && r_.uses(x) == 1) {
      if (std::ranges::count(kLinear, n->op->name)) {
        std::vector<ValueId> inputs = n->inputs;
        inputs[0] = (*this)(inputs[0], depth + 1);
        return r_.call(*n->op, n->attrs, inputs);
      }
      if (n->op->name == "add" || n->op->name == "sub") {
        const ValueId a = (*this)(n->inputs[0], depth + 1);
        return r_.call(n->op->name, {a, (*this)(n->inputs[1], depth + 1)});
      }
      for (const size_t i : {size_t{0}, size_t{1}})
        if (n->op->name == "mul" && r_.value(n->inputs[i]).constant)
          return r_.call("mul", {n->inputs[1 - i], (*this)(n->inputs[i], depth + 1)});
    }
    ++multiplied_;
    return r_.call("mul", {x, number(r_, factor_)});
  }
  int multiplied() const { return multiplied_; }

 private:
  ValueId constant(const ConstantNode& c) {
    std::vector<double> values = numbers_of(c);
    for (double& v : values) v *= factor_;
    return r_.constant(float_constant(ir::Elem::F32, c.shape, values));
  }
  ValueId dequantized(const Node& n) {
    const std::optional<double> scale = scale_of(r_, n.inputs[1]);
    if (!scale || !is_integer(r_.tensor(n.inputs[0])->elem)) return kNoValue;
    std::vector<ValueId> inputs = n.inputs;
    inputs[1] = number(r_, *scale * factor_);
    return r_.call(*n.op, n.attrs, inputs);
  }

  Rewriter& r_;
  double factor_;
  int multiplied_ = 0;
};

bool quantize(Rewriter& r, const Node& n) {
  const ValueId x = n.inputs[0];
  const std::optional<double> scale = scale_of(r, n.inputs[1]);
  const auto f32 = static_cast<int64_t>(ir::Elem::F32);
  if (!scale || *scale == 1 || r.tensor(x)->elem != ir::Elem::F32 ||
      !is_integer(r.tensor(n.outputs[0])->elem) || attr<int64_t>(n, "precision") != f32)
    return false;
  Scaled scaled(r, 1 / *scale);
  ValueId y = scaled(x);
  if (scaled.multiplied() > 1) y = r.call("mul", {x, number(r, 1 / *scale)});
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = y;
  inputs[1] = number(r, 1);
  return r.replace(n.outputs[0], r.call(*n.op, n.attrs, inputs));
}

/// Dequantised values that only wait for something made later, to be read together with it: until
/// then they are smaller as integers, which fuse knows.
std::unordered_set<ValueId> waiting(const Graph& graph) {
  std::unordered_set<ValueId> out;
  for (const Function& f : graph.functions) {
    std::unordered_map<ValueId, const Node*> makers;
    std::unordered_map<ValueId, std::vector<const Node*>> users;
    for (const Node& n : f.nodes) {
      for (const ValueId id : n.inputs) users[id].push_back(&n);
      for (const ValueId id : n.outputs) makers[id] = &n;
    }
    const auto computed = [&](ValueId id) -> const Node* {
      auto made = makers.find(id);
      if (made != makers.end() && made->second->op->name == "dequantize")
        made = makers.find(made->second->inputs[0]);
      return made == makers.end() ? nullptr : made->second;
    };
    for (const Node& n : f.nodes) {
      if (n.op->name != "dequantize" || users[n.outputs[0]].size() != 1) continue;
      const Node& user = *users[n.outputs[0]][0];
      const Node* self = computed(n.outputs[0]);
      if (self && user.op->fusion == FusionKind::Injective &&
          std::ranges::any_of(user.inputs, [&](ValueId id) { return computed(id) > self; }))
        out.insert(n.outputs[0]);
    }
  }
  return out;
}

/// What is quantised, and dequantised by its only reader, stays a float: rounded and limited.
bool dequantize(Rewriter& r, const Node& n) {
  const Node* made = r.maker(n.inputs[0], "quantize");
  const ir::Elem elem = r.tensor(n.inputs[0])->elem;
  const std::optional<double> scale = scale_of(r, n.inputs[1]);
  if (!made || !scale || r.uses(n.inputs[0]) != 1 || scale_of(r, made->inputs[1]) != 1.0 ||
      r.tensor(made->inputs[0])->elem != ir::Elem::F32 || !is_integer(elem) ||
      ir::bits(elem) > 16 || r.tensor(n.outputs[0])->elem != ir::Elem::F32)
    return false;
  const auto zero_of = [&](const Node& node) -> std::optional<double> {
    if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return 0;
    const Constant& c = r.value(node.inputs[2]).constant;
    return c && c->count() == 1 ? uniform(*c) : std::nullopt;
  };
  const std::optional<double> zero = zero_of(n);
  if (!zero || zero != zero_of(*made)) return false;
  const ValueId low = number(r, static_cast<double>(ir::int_min(elem)) - *zero),
                high = number(r, static_cast<double>(ir::int_max(elem)) - *zero);
  const ValueId steps = r.call("clip", {r.call("round", {made->inputs[0]}), low, high});
  return r.replace(n.outputs[0], r.call("mul", {steps, number(r, *scale)}));
}

/// The sums times the scales of both factors over that of the result: as f32, as requantize has it.
bool requantize(Rewriter& r, const Node& n) {
  const auto a = scale_of(r, n.inputs[1]), result = scale_of(r, n.inputs[3]);
  const Constant& b = r.value(n.inputs[2]).constant;
  if (!a || !result || !b || b->elem != ir::Elem::F32 || (b->count() != 1 && b->shape.size() != 1))
    return false;
  std::vector<double> factors;
  for (const double scale : numbers_of(*b))
    factors.push_back(static_cast<float>(*a) * static_cast<float>(scale) /
                      static_cast<float>(*result));
  const auto axis = attr<int64_t>(n, "b_axis"), rank = int64_t{r.tensor(n.inputs[0])->rank()};
  std::vector<int64_t> shape(static_cast<size_t>(factors.size() == 1 ? 0
                                                 : axis < 0          ? -axis
                                                                     : rank - axis),
                             1);
  if (factors.size() > 1) shape[0] = static_cast<int64_t>(factors.size());
  ValueId y = r.call("cast", {n.inputs[0]}, {{"to", static_cast<int64_t>(ir::Elem::F32)}});
  y = r.call("mul", {y, r.constant(float_constant(ir::Elem::F32, shape, factors))});
  std::vector<ValueId> inputs = {y, number(r, 1)};
  if (n.inputs.size() > 4 && n.inputs[4] != kNoValue) {
    if (!ir::is_const(simplified(elements(r.tensor(n.inputs[4])->shape)), 1)) return false;
    inputs.push_back(n.inputs[4]);
  }
  return r.replace(n.outputs[0], r.call("quantize", inputs, {{"to", attr<int64_t>(n, "to")}}));
}

}  // namespace

/// Lets values that are quantised be computed in steps of their scale, so that nothing is divided.
///   before   %m: f32[1, 8, 4, 4] = mul(%f, %s: const f32[8, 1, 1])
///            %a: f32[1, 8, 4, 4] = add(%m, %b: const f32[8, 1, 1])
///            %r: f32[1, 8, 4, 4] = relu(%a)
///            %q: u8[1, 8, 4, 4] = quantize(%r, %t: const f32[], %z)
///   after    %m: f32[1, 8, 4, 4] = mul(%f, const s / t)
///            %a: f32[1, 8, 4, 4] = add(%m, const b / t)
///            %r: f32[1, 8, 4, 4] = relu(%a)
///            %q: u8[1, 8, 4, 4] = quantize(%r, const 1, %z)
/// Constants are divided where each way to the value ends in some; else the value is multiplied by
/// 1 / t. What is quantised for one reader that dequantises it is rounded and limited as a float,
/// unless it is read with something made later:
///   before   %q: i8[4] = quantize(%x, const 1, const 3)
///            %y: f32[4] = dequantize(%q, %t, const 3)
///   after    %y: f32[4] = mul(clip(round(%x), -131, 124), %t)
/// Real-equal: what lies within a rounding of the middle between two steps may become the
/// other one.  Needs: integer_moves, which compares scales, to be done.
Graph fold_steps(Graph graph, PassContext& context) {
  const std::unordered_set<ValueId> waits = waiting(graph);
  return Rewriter::run(std::move(graph), context, [&](Rewriter& r, const Node& n) {
    if (n.op->name == "quantize") return quantize(r, n);
    if (n.op->name == "dequantize") return !waits.contains(n.outputs[0]) && dequantize(r, n);
    return n.op->name == "requantize" && requantize(r, n);
  });
}

}  // namespace tilewright::graph
