// SPDX-License-Identifier: Apache-2.0
// A loop whose states keep their shapes as one tensor program: a scan over time, made of the
// definitions of the operators in its body.
//   recurrence (trip count: i64, carried…, what else the body reads…) {body}
// The body and the results are those of loop (ops/control.h). It has no condition of its own, and
// picks its part of an input by the number of the iteration. Products of what does not depend on
// the state are computed for all times at once.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/control.h"
#include "ops/define.h"
#include "ops/ops.h"
#include "ops/program_of.h"
#include "te/over_time.h"

namespace tilewright::ops {
namespace {

using namespace graph;
using te::Expr;
using te::Tensor;
using te::Var;

/// The body of the node, by what its inputs and outputs mean.
struct Body {
  const Function& function;
  size_t states;

  explicit Body(const Call& call)
      : function(call.bodies().at(0)), states(function.inputs.size() - 2) {}

  ValueId iteration() const { return function.inputs[0]; }
  ValueId goes_on() const { return function.inputs[1]; }
  ValueId before(size_t k) const { return function.inputs[k + 2]; }
  ValueId after(size_t k) const { return function.outputs[k + 1]; }
  bool changes(size_t k) const { return before(k) != after(k); }
};

Dim steps_of(const Call& call) { return call.extent(ir::max(call.element(0, 0), 0)); }

std::vector<Type> infer(const Call& call) {
  const Body body(call);
  std::vector<Type> types;
  for (size_t k = 0; k < body.states; ++k) types.push_back(call.type(1 + k));
  for (size_t i = body.states + 1; i < body.function.outputs.size(); ++i) {
    TensorType stacked = *call.graph().type(body.function.outputs[i]).tensor();
    stacked.shape.insert(stacked.shape.begin(), steps_of(call));
    types.push_back(stacked);
  }
  return types;
}

/// The tensors of one step, by the values of the body.
class Step {
 public:
  Step(const Call& call, const Body& body, const Var& time)
      : call_(call), body_(body), time_(time), steps_(steps_of(call)) {
    for (size_t i = 0; i < call.inputs(); ++i)
      if (call.has(i)) outside_.emplace(call.id(i), i);
    bind(body.iteration(), te::compute("iteration", {}, [&] { return Expr(time); }));
    bind(body.goes_on(), te::compute("goes_on", {}, [&] { return Expr(ir::bool_imm(true)); }));
  }

  void bind(ValueId id, const Tensor& tensor) { tensors_.insert_or_assign(id, tensor); }
  /// The state that the step before left.
  void bind_state(ValueId id, const Tensor& before) {
    bind(id, before);
    of_state_.insert(id);
    // Sums read it once for all their terms: at the first step it is another tensor.
    whole_.emplace(id, te::compute("carried", shape_of(before), [&](const std::vector<Var>& at) {
                     return before.at(indices_of(at));
                   }));
  }

  void run() {
    for (const Node& node : body_.function.nodes) add(node);
  }

  /// A result of the step.
  Tensor at(ValueId id) { return tensor(id); }

 private:
  Tensor tensor(ValueId id) {
    if (const auto found = tensors_.find(id); found != tensors_.end()) return found->second;
    if (const auto known = known_tensor(call_.graph().value(id))) return *known;
    const auto outside = outside_.find(id);
    require(outside != outside_.end(), "a body reads what is no input of its node");
    return call_.in(outside->second);
  }

  void add(const Node& node) {
    const bool sums = node.op->fusion != FusionKind::Injective;
    std::vector<Tensor> results =
        is_pick(node) ? std::vector{picked(node)}
                      : tensors_of(call_.graph(), node, [&](ValueId id) {
                          const auto whole = whole_.find(id);
                          return sums && whole != whole_.end() ? whole->second : tensor(id);
                        });
    const bool of_state =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return of_state_.contains(id); });
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      if (of_state) of_state_.insert(node.outputs[i]);
      if (!of_state && sums) results[i] = at_once(results[i]);
      bind(node.outputs[i], results[i]);
    }
  }

  bool is_pick(const Node& node) const {
    return node.op == &pick_op() && node.inputs[1] == body_.iteration();
  }

  /// The input's part of this time, by the variable itself rather than by what `iteration` holds.
  Tensor picked(const Node& node) {
    const PickAttrs& attrs = node.attrs.as<PickAttrs>();
    const Tensor x = tensor(node.inputs[0]);
    const auto axis = static_cast<size_t>(attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis);
    te::Shape shape = shape_of(x);
    const Expr last = shape[axis] - 1;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return te::compute("picked", shape, [&](const std::vector<Var>& v) {
      At at = indices_of(v);
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis),
                attrs.reverse ? last - time_ : Expr(time_));
      return x.at(at);
    });
  }

  /// What a step reads of the tensor when it is computed for all times before the first one.
  Tensor at_once(const Tensor& t) {
    const std::optional<Tensor> all = te::over_time(t, time_.var(), steps_);
    if (!all) return t;
    return te::compute(t.name(), shape_of(t), [&](const std::vector<Var>& v) {
      At at = indices_of(v);
      at.insert(at.begin(), time_);
      return all->at(at);
    });
  }

  const Call& call_;
  const Body& body_;
  Var time_;
  Dim steps_;
  std::unordered_map<ValueId, size_t> outside_;  // inputs of the node
  std::unordered_map<ValueId, Tensor> tensors_;
  std::unordered_map<ValueId, Tensor> whole_;  // states as tensors of their own
  std::unordered_set<ValueId> of_state_;
};

/// The state after the last step; the initial one where there is no step.
Tensor last_of(const Tensor& over_time, const Tensor& initial, const Dim& steps) {
  const Expr last = Expr(steps) - 1;
  return te::compute("last", shape_of(initial), [&](const std::vector<Var>& v) {
    At at = indices_of(v);
    const Expr start = initial.at(at);
    at.insert(at.begin(), last);
    const std::optional<int64_t> known = ir::const_int(steps);
    if (known) return *known > 0 ? over_time.at(at) : start;
    return te::guard(Expr(steps) > 0, over_time.at(at), start);
  });
}

/// The body's results that are kept over time: the states that change, and what is stacked, once.
std::vector<ValueId> kept(const Body& body) {
  std::vector<ValueId> out;
  for (size_t k = 0; k < body.states; ++k)
    if (body.changes(k)) out.push_back(body.after(k));
  for (size_t i = body.states + 1; i < body.function.outputs.size(); ++i)
    if (std::ranges::find(out, body.function.outputs[i]) == out.end())
      out.push_back(body.function.outputs[i]);
  return out;
}

std::vector<Tensor> define(const Call& call) {
  const Body body(call);
  const Dim steps = steps_of(call);
  const std::vector<ValueId> wanted = kept(body);
  std::vector<Tensor> initial;
  for (size_t k = 0; k < body.states; ++k)
    if (body.changes(k)) initial.push_back(call.in(1 + k));
  const auto run = [&](const Var& time, const std::vector<Tensor>& before) {
    Step step(call, body, time);
    for (size_t k = 0, next = 0; k < body.states; ++k)
      if (body.changes(k))
        step.bind_state(body.before(k), before[next++]);
      else
        step.bind(body.before(k), call.in(1 + k));
    step.run();
    std::vector<Tensor> out;
    for (const ValueId id : wanted) out.push_back(step.at(id));
    return out;
  };
  const std::vector<Tensor> over_time = te::scan("state", Expr(steps), initial, run);
  std::vector<Tensor> out;
  for (size_t k = 0, next = 0; k < body.states; ++k) {
    const Tensor start = call.in(1 + k);
    out.push_back(body.changes(k)
                      ? last_of(over_time[next++], start, steps)
                      : te::compute("state", shape_of(start), [&](const std::vector<Var>& at) {
                          return start.at(indices_of(at));
                        }));
  }
  for (size_t i = body.states + 1; i < body.function.outputs.size(); ++i)
    out.push_back(over_time[static_cast<size_t>(
        std::ranges::find(wanted, body.function.outputs[i]) - wanted.begin())]);
  return out;
}

}  // namespace

const OpDef& recurrence_op() {
  static const OpDef def = define_op(
      {.name = "recurrence", .infer = infer, .algorithms = {{.name = "scan", .define = define}}});
  return def;
}

}  // namespace tilewright::ops
