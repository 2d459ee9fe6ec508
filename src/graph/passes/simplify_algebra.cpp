// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"

namespace tilewright::graph {
namespace {

/// `now` in the place of the node's only result.
bool becomes(Rewriter& r, const Node& n, ValueId now) { return r.replace(n.outputs[0], now); }

std::optional<double> number(Rewriter& r, ValueId id) {
  const Constant& c = r.value(id).constant;
  return c ? uniform(*c) : std::nullopt;
}

bool is_uniform(Rewriter& r, ValueId id, double value) {
  const std::optional<double> c = number(r, id);
  return c && *c == value;
}

// x + 0, 0 + x, x - 0, x * 1, 1 * x, x / 1, pow(x, 1)

bool neutral_right(Rewriter& r, const Node& n, double value) {
  return is_uniform(r, n.inputs[1], value) && becomes(r, n, n.inputs[0]);
}
bool neutral_left(Rewriter& r, const Node& n, double value) {
  return is_uniform(r, n.inputs[0], value) && becomes(r, n, n.inputs[1]);
}
bool add(Rewriter& r, const Node& n) { return neutral_right(r, n, 0) || neutral_left(r, n, 0); }
bool sub(Rewriter& r, const Node& n) { return neutral_right(r, n, 0); }
bool mul(Rewriter& r, const Node& n) { return neutral_right(r, n, 1) || neutral_left(r, n, 1); }
bool pow(Rewriter& r, const Node& n) { return neutral_right(r, n, 1); }

/// x / 2^k → x * 2^-k, which is exact.
bool div(Rewriter& r, const Node& n) {
  if (neutral_right(r, n, 1)) return true;
  const Constant& c = r.value(n.inputs[1]).constant;
  if (!c || !ir::is_float(c->elem) || c->count() > 4096) return false;
  std::vector<double> inverse;
  for (const double v : numbers_of(*c)) {
    int exponent = 0;
    if (v == 0 || !std::isfinite(v) || std::abs(std::frexp(v, &exponent)) != 0.5 ||
        std::abs(exponent) > 10)
      return false;
    inverse.push_back(1 / v);
  }
  const ValueId factor = r.constant(float_constant(c->elem, c->shape, inverse));
  return becomes(r, n, r.call("mul", {n.inputs[0], factor}));
}

// neg(neg(x)), not(not(x)): x.  relu(relu(x)), abs(abs(x)): once.

bool involution(Rewriter& r, const Node& n) {
  const Node* inner = r.maker(n.inputs[0], n.op->name);
  return inner && becomes(r, n, inner->inputs[0]);
}
bool idempotent(Rewriter& r, const Node& n) {
  return r.maker(n.inputs[0], n.op->name) && becomes(r, n, n.inputs[0]);
}

// Casts: to the same type; of a cast that loses nothing.

/// Does `to` hold every value of `from`?
bool holds(ir::Elem to, ir::Elem from) {
  const auto digits = [](ir::Elem e) {  // bits of a float's significand
    switch (e) {
      case ir::Elem::F16: return 11;
      case ir::Elem::BF16: return 8;
      case ir::Elem::F32: return 24;
      case ir::Elem::F64: return 53;
      default: return 0;
    }
  };
  if (to == from || from == ir::Elem::Bool) return true;
  if (to == ir::Elem::Bool) return false;
  if (ir::is_float(from))
    return ir::is_float(to) && digits(from) && digits(to) && ir::bits(to) > ir::bits(from);
  if (ir::is_float(to)) return ir::bits(from) - (ir::is_signed(from) ? 1 : 0) <= digits(to);
  if (ir::is_signed(from) && !ir::is_signed(to)) return false;
  return ir::bits(to) > ir::bits(from);
}

bool cast(Rewriter& r, const Node& n) {
  if (becomes(r, n, n.inputs[0])) return true;
  const Node* inner = r.maker(n.inputs[0], "cast");
  if (!inner) return false;
  const TensorType *first = r.tensor(inner->inputs[0]), *middle = r.tensor(n.inputs[0]);
  if (!first || !holds(middle->elem, first->elem)) return false;
  if (becomes(r, n, inner->inputs[0])) return true;
  return becomes(r, n, r.call(*n.op, n.attrs, {inner->inputs[0]}));
}

// Views: of the same shape; of a view.

/// unsqueeze(reduce(x)) → a reduction that keeps the dimensions
bool keeps_dims(Rewriter& r, const Node& n, const Node& inner) {
  if (!inner.op->name.starts_with("reduce_") || !r.tensor(n.outputs[0]) ||
      r.tensor(n.outputs[0])->rank() != r.tensor(inner.inputs[0])->rank())
    return false;
  AttrList attrs = inner.attrs.list();
  for (NamedAttr& a : attrs)
    if (a.name == "keepdims") a.value = int64_t{1};
  return becomes(r, n, r.call(inner.op->name, inner.inputs, attrs));
}

bool view(Rewriter& r, const Node& n) {
  if (becomes(r, n, n.inputs[0])) return true;
  const Node* inner = r.maker(n.inputs[0]);
  if (inner && keeps_dims(r, n, *inner)) return true;
  if (!inner || inner->op->special != Special::View || !r.tensor(n.outputs[0])) return false;
  if (becomes(r, n, inner->inputs[0])) return true;
  if (!r.tensor(inner->inputs[0])) return false;
  return becomes(r, n, r.reshape(inner->inputs[0], r.tensor(n.outputs[0])->shape));
}

// Transposes: into the same order; of a transpose; of dimensions of extent 1 only.

std::vector<int64_t> order_of(Rewriter& r, const Node& n) {
  std::vector<int64_t> order = attr<std::vector<int64_t>>(n, "axes");
  const int rank = r.tensor(n.inputs[0])->rank();
  for (int64_t& a : order) a = a < 0 ? a + rank : a;
  return order;
}

/// Do the dimensions that are not 1 keep their order?
bool moves_nothing(const std::vector<int64_t>& order, const Shape& in) {
  int64_t last = -1;
  for (const int64_t d : order) {
    if (ir::is_const(in[static_cast<size_t>(d)], 1)) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

bool transpose(Rewriter& r, const Node& n) {
  std::vector<int64_t> order = order_of(r, n);
  ValueId from = n.inputs[0];
  const Node* inner = r.maker(from, "transpose");
  if (inner) {
    const std::vector<int64_t> before = order_of(r, *inner);
    for (int64_t& d : order) d = before[static_cast<size_t>(d)];
    from = inner->inputs[0];
  }
  if (moves_nothing(order, r.tensor(from)->shape))
    return becomes(r, n, r.reshape(from, r.tensor(n.outputs[0])->shape));
  return inner && becomes(r, n, r.call("transpose", {from}, {{"axes", order}}));
}

// Parts and repetitions that are the whole.

/// Is input i missing, or known to be nothing but `value`?
bool only(Rewriter& r, const Node& n, size_t i, double value) {
  return i >= n.inputs.size() || n.inputs[i] == kNoValue || is_uniform(r, n.inputs[i], value);
}
bool slice(Rewriter& r, const Node& n) { return only(r, n, 4, 1) && becomes(r, n, n.inputs[0]); }
bool pad(Rewriter& r, const Node& n) { return only(r, n, 1, 0) && becomes(r, n, n.inputs[0]); }
bool same_shape(Rewriter& r, const Node& n) { return becomes(r, n, n.inputs[0]); }

/// How many inputs from `first` on are all the results of one split of the same axis.
size_t split_again(Rewriter& r, const Node& n, size_t first) {
  const Node* split = r.maker(n.inputs[first], "split");
  if (!split || !r.tensor(n.inputs[first])) return 0;
  const auto axis = [&](const Node& node) {
    const auto a = attr<int64_t>(node, "axis");
    return a < 0 ? a + r.tensor(n.inputs[first])->rank() : a;
  };
  const size_t count = split->outputs.size();
  return count <= n.inputs.size() - first && axis(n) == axis(*split) &&
                 std::equal(split->outputs.begin(), split->outputs.end(),
                            n.inputs.begin() + static_cast<std::ptrdiff_t>(first))
             ? count
             : 0;
}

/// Without the inputs that have no elements, and with the whole for all of its parts in a row.
bool concat(Rewriter& r, const Node& n) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId id = n.inputs[i];
    if (const size_t parts = split_again(r, n, i)) {
      inputs.push_back(r.maker(id)->inputs[0]);
      i += parts - 1;
    } else if (!r.tensor(id) || !ir::is_const(elements(r.tensor(id)->shape), 0)) {
      inputs.push_back(id);
    }
  }
  if (inputs.size() == 1) return becomes(r, n, inputs[0]);
  if (inputs.empty() || inputs.size() == n.inputs.size()) return false;
  return becomes(r, n, r.call(*n.op, n.attrs, inputs));
}

/// where(constant, a, b)
bool where(Rewriter& r, const Node& n) {
  const std::optional<double> c = number(r, n.inputs[0]);
  return c && becomes(r, n, n.inputs[*c != 0 ? 1 : 2]);
}

struct AlgebraRule {
  std::string_view op;
  bool (*apply)(Rewriter&, const Node&);
};
constexpr AlgebraRule kRules[] = {
    {"abs", idempotent}, {"add", add},           {"cast", cast},       {"concat", concat},
    {"div", div},        {"expand", same_shape}, {"mul", mul},         {"neg", involution},
    {"not", involution}, {"pad", pad},           {"pow", pow},         {"relu", idempotent},
    {"slice", slice},    {"sub", sub},           {"tile", same_shape}, {"transpose", transpose},
    {"where", where},
};

}  // namespace

/// Drops operations that change nothing, and joins those that undo each other.
///   before   %a: f32[2, 3] = mul(%x, %one)
///            %b: f32[3, 2] = transpose(%a) {axes = [1, 0]}
///            %y: f32[2, 3] = transpose(%b) {axes = [1, 0]}
///   after    %y → %x
/// The only change to numbers: -0.0 + 0.0 becomes -0.0.
Graph simplify_algebra(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, [](Rewriter& r, const Node& n) {
    if (n.outputs.size() != 1 || n.outputs[0] == kNoValue) return false;
    if (n.op->special == Special::View) return view(r, n);
    const auto rule = std::ranges::find(kRules, n.op->name, &AlgebraRule::op);
    return rule != std::end(kRules) && rule->apply(r, n);
  });
}

}  // namespace tilewright::graph
