// SPDX-License-Identifier: Apache-2.0
#include "graph/definition.h"

#include <algorithm>
#include <unordered_map>

#include "graph/op_def.h"
#include "ir/rewrite.h"

namespace tilewright::graph {
namespace {

void collect(const te::Stage& stage, std::unordered_set<te::Stage>& seen,
             std::vector<te::Stage>& out) {
  if (!seen.insert(stage).second) return;
  for (const te::Tensor& t : stage->reads) collect(t.stage(), seen, out);
  out.push_back(stage);
}

double weight(const ir::Expr& e) {
  double sum = 0;
  ir::walk(
      e,
      [&](const ir::Binary& b) {
        const bool division = b.op == ir::BinaryOp::Div || b.op == ir::BinaryOp::Mod;
        sum += division ? 4 : 1;
      },
      [&](const ir::Unary&) { sum += 1; }, [&](const ir::Cast&) { sum += 1; },
      [&](const ir::Select&) { sum += 1; }, [&](const ir::Guard&) { sum += 1; },
      [&](const ir::Call& c) {
        switch (c.fn) {
          case ir::MathFn::Floor:
          case ir::MathFn::Ceil:
          case ir::MathFn::Round:
          case ir::MathFn::Trunc:
          case ir::MathFn::IsNan:
          case ir::MathFn::IsInf:
          case ir::MathFn::CopySign:
          case ir::MathFn::Fma: sum += 1; break;
          case ir::MathFn::Sqrt:
          case ir::MathFn::Rsqrt: sum += 6; break;
          default: sum += 16;
        }
      },
      [&](const ir::Load&) { return false; });  // indices are shared with the loops
  return sum;
}

/// Calls f(expression, how often it is evaluated) for every value of a stage.
template <class F>
void for_each_value(Graph& graph, const te::Stage& stage, double times, F&& f) {
  if (const te::Compute* c = stage->as<te::Compute>()) {
    for (const auto* axes : {&c->axes, &c->reduce_axes})
      for (const te::Iter& axis : *axes) times *= estimate(graph, axis.extent);
    for (const ir::Expr& value : c->values) f(value, times);
  }
  if (const te::Scan* s = stage->as<te::Scan>())
    for (const te::Stage& inner : s->body)
      for_each_value(graph, inner, times * estimate(graph, s->time.extent), f);
}

}  // namespace

std::optional<Definition> definition_of(Graph& graph, const Node& node) {
  if (node.op->algorithms.empty()) return std::nullopt;
  Definition out;
  for (const ValueId id : node.inputs) {
    const TensorType* t = id == kNoValue ? nullptr : graph.type(id).tensor();
    out.inputs.push_back(!t || t->strings
                             ? std::nullopt
                             : std::optional(te::placeholder("x", t->elem, te_shape(t->shape))));
  }
  std::vector<Type> types;
  for (const ValueId id : node.outputs) types.push_back(id == kNoValue ? Type{} : graph.type(id));
  Call call(graph, *node.op, node.attrs, node.inputs, node.origin, node.bodies);
  call.bind(out.inputs, std::move(types));
  const auto chosen = std::ranges::find_if(
      node.op->algorithms, [&](const Algorithm& a) { return !a.applies || a.applies(call); });
  require(chosen != node.op->algorithms.end(), "no algorithm of the operator applies");
  out.results = chosen->define(call);
  std::unordered_set<te::Stage> seen;
  for (const te::Tensor& t : out.results) collect(t.stage(), seen, out.stages);
  return out;
}

bool is_pointwise(Graph& graph, const Node& n) {
  if (n.op->fusion != FusionKind::Injective || n.op->algorithms.empty() || n.outputs.size() != 1)
    return false;
  const std::optional<Definition> def = definition_of(graph, n);
  const te::Compute* c = def->results[0].stage()->as<te::Compute>();
  if (!c || c->reducer) return false;
  bool ok = true;
  for (const te::Stage& stage : def->stages)
    if (stage != def->results[0].stage() && !stage->as<te::Placeholder>()) ok = false;
  ir::walk(c->values[0], [&](const ir::Load& load) {
    if (load.indices.size() > c->axes.size()) {
      ok = false;
      return;
    }
    const size_t missing = c->axes.size() - load.indices.size();
    for (size_t d = 0; d < load.indices.size(); ++d)
      if (!ir::is_const(load.buffer->shape[d], 1) && load.indices[d] != c->axes[missing + d].var)
        ok = false;
  });
  return ok;
}

bool permutes_rows(Graph& graph, const Node& n) {
  if (n.op->fusion != FusionKind::Injective || n.op->algorithms.empty() || n.outputs.size() != 1)
    return false;
  const std::optional<Definition> def = definition_of(graph, n);
  const te::Compute* c = def->results[0].stage()->as<te::Compute>();
  const ir::Load* load = c && !c->reducer ? c->values[0].as<ir::Load>() : nullptr;
  if (!load || def->stages.size() != 2 || c->axes.empty()) return false;
  const auto picks = [](const ir::Expr& e, const te::Iter& axis) {
    const auto* b = e.as<ir::Binary>();
    return e == axis.var ||
           (b && b->op == ir::BinaryOp::Div && b->a == axis.var && ir::const_int(b->b).has_value());
  };
  for (const te::Iter& axis : c->axes)
    if (std::ranges::count_if(load->indices, [&](const ir::Expr& e) { return picks(e, axis); }) !=
        1)
      return false;
  const auto constants = std::ranges::count_if(
      load->indices, [](const ir::Expr& e) { return ir::const_int(e).has_value(); });
  if (load->indices.size() != c->axes.size() + static_cast<size_t>(constants)) return false;
  // The last dimension is the last that has more than one place.
  size_t from = load->indices.size(), to = c->axes.size();
  while (from > 1 && ir::is_const(load->buffer->shape[from - 1], 1)) --from;
  while (to > 1 && ir::is_const(c->axes[to - 1].extent, 1)) --to;
  return load->indices[from - 1] == c->axes[to - 1].var;
}

bool sums_rows_of(Graph& graph, const Node& n, size_t input) {
  const std::optional<Definition> def = definition_of(graph, n);
  if (!def || !def->inputs[input]) return false;
  bool found = false, ok = true;
  for (const te::Stage& stage : def->stages) {
    const te::Compute* c = stage->as<te::Compute>();
    if (!c) continue;
    const auto among = [](const std::vector<te::Iter>& axes, const ir::Expr& e) {
      return std::ranges::any_of(axes, [&](const te::Iter& a) { return a.var == e; });
    };
    for (const ir::Expr& value : c->values)
      ir::walk(value, [&](const ir::Load& load) {
        if (load.buffer != def->inputs[input]->buffer()) return;
        found = true;
        for (size_t d = 0; d + 1 < load.indices.size(); ++d)
          ok = ok && (among(c->axes, load.indices[d]) || ir::is_const(load.indices[d], 0));
        ok = ok && c->reduce_axes.size() == 1 && among(c->reduce_axes, load.indices.back());
      });
  }
  return found && ok;
}

double estimate(Graph& graph, const Dim& dim) {
  if (const std::optional<int64_t> c = ir::const_int(dim)) return static_cast<double>(*c);
  ir::VarMap likely;
  for (const ir::Var& var : ir::vars_of(dim)) {
    const SymbolInfo* found = graph.symbol_index.with_var(graph.symbols, *var);
    if (!found) continue;
    const ir::Symbol& s = found->symbol;
    likely[var] = s.likely.empty() ? std::clamp(int64_t{64}, std::max<int64_t>(s.min, 1),
                                                std::max<int64_t>(s.max, 1))
                                   : s.likely[0];
  }
  const std::optional<int64_t> value = ir::const_int(simplified(ir::substitute(dim, likely)));
  return value ? static_cast<double>(std::max<int64_t>(*value, 1)) : 64;
}

double estimate_elements(Graph& graph, const Shape& shape) {
  double product = 1;
  for (const Dim& d : shape) product *= estimate(graph, d);
  return product;
}

NodeCost cost_of(Graph& graph, const Node& node) {
  const std::optional<Definition> def = definition_of(graph, node);
  if (!def) return {};
  NodeCost out{.per_element = 0, .reads = std::vector<double>(node.inputs.size())};
  std::unordered_map<ir::Buffer, size_t> inputs;
  for (size_t i = 0; i < def->inputs.size(); ++i)
    if (def->inputs[i]) inputs.emplace(def->inputs[i]->buffer(), i);
  for (const te::Stage& stage : def->stages)
    for_each_value(graph, stage, 1, [&](const ir::Expr& value, double times) {
      out.per_element += weight(value) * times;
      ir::walk(value, [&](const ir::Load& load) {
        if (const auto found = inputs.find(load.buffer); found != inputs.end())
          out.reads[found->second] += times;
      });
    });
  const auto size = [&](const te::Tensor& t) {
    return std::max(1.0, estimate_elements(graph, t.shape()));
  };
  out.per_element /= size(def->results[0]);
  for (size_t i = 0; i < def->inputs.size(); ++i)
    if (def->inputs[i]) out.reads[i] /= size(*def->inputs[i]);
  return out;
}

}  // namespace tilewright::graph
