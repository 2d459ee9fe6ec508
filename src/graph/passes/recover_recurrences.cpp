// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "graph/dependence.h"
#include "graph/indices.h"
#include "graph/op_def.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::graph {
namespace {

/// A kernel keeps the states of all times: at most so many elements, or so many times what the loop
/// reads and stacks over time.
constexpr int64_t kFewElements = int64_t{1} << 20, kTimesMore = 16;
constexpr size_t kMostNodes = 64;

/// Elements, where each extent that only a run tells is 1.
int64_t least_elements(const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t out = 1;
  for (const Dim& d : shape)
    out = std::min(out * std::clamp<int64_t>(ir::const_int(d).value_or(1), 1, kMost / out), kMost);
  return out;
}

class Recovery {
 public:
  Recovery(Rewriter& r, const Node& loop) : r_(r), loop_(loop), body_(loop.bodies.at(0)) {}

  bool run() {
    if (body_.inputs.size() <= 2 || !counts_only() || !keeps_states()) return false;
    picks();
    if (!std::ranges::all_of(body_.nodes, [&](const Node& n) { return is_simple(n); }) ||
        knows_sizes())
      return false;
    const Call call = r_.call_of(loop_);
    const Dim steps = call.element(0, 0);
    if (!may_keep(steps) || !stacks(call, ir::max(steps, 0))) return false;
    for (const Check& check : std::exchange(body_.checks, {}))
      if (const ir::Expr right = call.simple(steps <= 0 || check.condition); !call.proves(right))
        r_.check(right, check.message);
    for (const Dim& extent : picked_)
      if (const ir::Expr right = call.simple(steps <= extent); !call.proves(right))
        r_.check(right, str("the loop runs ", ir::print(steps), " times over a dimension of ",
                            ir::print(extent)));
    std::vector<ValueId> inputs{loop_.inputs[0]};
    inputs.insert(inputs.end(), loop_.inputs.begin() + 2, loop_.inputs.end());
    for (const ValueId id : outside()) inputs.push_back(id);
    const std::vector<ValueId> now =
        r_.calls("recurrence", inputs, loop_.outputs.size(), {std::move(body_)});
    for (size_t i = 0; i < now.size(); ++i)
      if (loop_.outputs[i] != kNoValue && !r_.replace(loop_.outputs[i], now[i])) return false;
    return true;
  }

 private:
  bool is_true(ValueId id) const {
    const ConstantNode* c = id == kNoValue ? nullptr : r_.value(id).constant.get();
    return c && int_at(*c, 0) != 0;
  }

  /// Does the trip count alone end the loop?
  bool counts_only() const {
    const ValueId starts = loop_.inputs[1], goes_on = body_.outputs[0];
    return loop_.inputs[0] != kNoValue && (starts == kNoValue || is_true(starts)) &&
           (goes_on == body_.inputs[1] || is_true(goes_on));
  }

  bool keeps_states() {
    bool changes = false;
    for (size_t k = 2; k < body_.inputs.size(); ++k) {
      const Type &before = r_.value(body_.inputs[k]).type,
                 &after = r_.value(body_.outputs[k - 1]).type;
      const TensorType* t = before.tensor();
      if (!t || t->strings || !same(before, after) || !same(before, r_.value(loop_.inputs[k]).type))
        return false;
      if (body_.inputs[k] == body_.outputs[k - 1]) continue;
      changes = true;
      states_ += least_elements(t->shape);
    }
    for (const ValueId id : body_.outputs) {
      const TensorType* t = r_.value(id).type.tensor();
      if (!t || t->strings) return false;
    }
    for (size_t i = body_.inputs.size() - 1; i < body_.outputs.size(); ++i)
      over_time_ += least_elements(r_.tensor(body_.outputs[i])->shape);
    return changes;
  }

  /// May the states of all times be kept?
  bool may_keep(const Dim& steps) const {
    const std::optional<int64_t> known = ir::const_int(steps);
    return states_ <= kTimesMore * over_time_ || (known && *known <= kFewElements / states_);
  }

  /// Is the number of iterations known to be the extent of what is stacked?
  bool stacks(const Call& call, const Dim& steps) const {
    for (size_t i = body_.inputs.size() - 2; i < loop_.outputs.size(); ++i)
      if (loop_.outputs[i] != kNoValue &&
          !same(r_.tensor(loop_.outputs[i])->shape[0], call.extent(steps)))
        return false;
    return true;
  }

  /// Lets what gathers by the number of the iteration pick, which has no index to check.
  void picks() {
    const ValueId iteration = body_.inputs[0];
    for (Node& n : body_.nodes) {
      const bool gathers = n.op->name == "gather" && n.inputs[1] == iteration;
      if (!gathers && !(n.op->name == "pick" && n.inputs[1] == iteration)) continue;
      const TensorType& x = *r_.tensor(n.inputs[0]);
      const auto given = attr<int64_t>(n, "axis");
      const int64_t axis = given < 0 ? given + x.rank() : given;
      picked_.push_back(x.shape[static_cast<size_t>(axis)]);
      over_time_ += least_elements(r_.tensor(n.outputs[0])->shape);
      if (!gathers) continue;
      n.op = &r_.op("pick");
      n.attrs = attrs_from_list(*n.op, {{"axis", axis}});
    }
  }

  bool is_simple(const Node& n) {
    if (!is_computed(*n.op) && n.op->special != Special::View) return false;
    if (n.op->algorithms.empty() || n.op->loops || !n.bodies.empty() ||
        (n.op->fusion == FusionKind::Opaque))
      return false;
    if (n.op->indexed) {
      const Call call = r_.call_of(n);
      if (!has_right_indices(call, n.op->indexed(call))) return false;
    }
    for (const ValueId id : n.inputs)
      if (id != kNoValue && !is_numbers(id)) return false;
    return std::ranges::all_of(n.outputs,
                               [&](ValueId id) { return id == kNoValue || is_numbers(id); });
  }
  bool is_numbers(ValueId id) const {
    const TensorType* t = r_.value(id).type.tensor();
    return t && !t->strings;
  }

  /// Are there sizes that each iteration may have anew?
  bool knows_sizes() {
    if (body_.nodes.size() > kMostNodes) return true;
    std::unordered_set<ValueId> own(body_.inputs.begin(), body_.inputs.end());
    for (const Node& n : body_.nodes) own.insert(n.outputs.begin(), n.outputs.end());
    return std::ranges::any_of(r_.graph().symbols, [&](const SymbolInfo& s) {
      const FromElement* e = std::get_if<FromElement>(&s.source);
      const FromExtent* x = std::get_if<FromExtent>(&s.source);
      return (e && own.contains(e->value)) || (x && own.contains(x->value));
    });
  }

  /// What the body reads that it does not make.
  std::vector<ValueId> outside() const {
    std::unordered_set<ValueId> seen(body_.inputs.begin(), body_.inputs.end());
    for (const Node& n : body_.nodes) seen.insert(n.outputs.begin(), n.outputs.end());
    std::vector<ValueId> out;
    const auto add = [&](ValueId id) {
      if (id != kNoValue && seen.insert(id).second) out.push_back(id);
    };
    for (const Node& n : body_.nodes)
      for (const ValueId id : n.inputs) add(id);
    for (const ValueId id : body_.outputs) add(id);
    return out;
  }

  Rewriter& r_;
  const Node& loop_;
  Function body_;
  std::vector<Dim> picked_;             // the extents of what is picked from
  int64_t states_ = 0, over_time_ = 0;  // elements for each iteration
};

}  // namespace

/// Makes one kernel of a loop that is a recurrence: its number of iterations is known before the
/// first one, and its states keep their shapes.
///   before   %h: f32[1, 64], %y: f32[t, 1, 64] = loop(%t, none, %h0) {(%i, %c, %before) {
///              %x_i: f32[1, 32] = gather(%x: f32[t, 1, 32], %i) {axis = 0}
///              … %after: f32[1, 64] = tanh(…)
///              return %c, %after, %after }}
///   after    %h: f32[1, 64], %y: f32[t, 1, 64] = recurrence(%t, %h0, %x, %w, %r) {(%i, %c,
///   %before) {
///              %x_i: f32[1, 32] = pick(%x, %i) {axis = 0} … }}
Graph recover_recurrences(Graph graph, PassContext& context) {
  return Rewriter::run(std::move(graph), context, [](Rewriter& r, const Node& n) {
    return n.op->name == "loop" && Recovery(r, n).run();
  });
}

}  // namespace tilewright::graph
