// SPDX-License-Identifier: Apache-2.0
// If and Loop as jumps of the plan. What they mean stands in ops/control.h.
#include "driver/planner.h"
#include "graph/op_def.h"
#include "support/str.h"

namespace tilewright::driver {

using namespace graph;

namespace {

/// The iterations' results of one output of a loop, one after another in memory that grows.
struct Stack {
  graph::ValueId from;            // what the body gives
  tilewright::ValueId all, part;  // the whole, and the place of one iteration
  std::vector<Reg> extents;       // of one iteration
  Reg offset;                     // of the part
  Reg bytes;                      // of one iteration
};

}  // namespace

/// A value that takes over what others hold.
tilewright::ValueId Planner::shared(ValueId id) {
  const TensorType* t = graph_.type(id).tensor();
  return values_[id] =
             plan_.dynamic(value_type(graph_.type(id)), t ? static_cast<uint32_t>(t->rank()) : 0,
                           graph_.value(id).name);
}

/// Lets `to`, of this type, hold what `from` is.
void Planner::hand_over(PlanValueId to, const Type& type, ValueId from) {
  if (type.unranked() && graph_.type(from).tensor())
    plan_.host_call("optional", {}, std::vector{value(from)}, std::vector{to});
  else
    plan_.share(to, value(from));
}

/// A tensor of one element with the register's value, in memory of its own: a body may hand it on.
tilewright::ValueId Planner::scalar(ValueId id, Reg value) {
  const TensorType& t = *graph_.type(id).tensor();
  const PlanValueId v = plan_.dynamic(elem_type(t), symbols_.regs(t.shape));
  plan_.alloc(v);
  plan_.store_element(v, plan_.constant(0), value);
  return values_[id] = v;
}

/// The nodes of a body, then `results`, then all memory that the body took is given back.
void Planner::body(const Function& f, FunctionRef<void()> results) {
  symbols_.begin_scope();
  std::vector<ValueId> outer;
  std::swap(outer, dynamic_);
  nodes(f, f.checks);
  results();
  for (const ValueId id : dynamic_) plan_.free(values_.at(id));
  dynamic_ = std::move(outer);
  symbols_.end_scope();
}

void Planner::if_node(const Node& node) {
  const Reg condition = plan_.load_element(value(node.inputs[0]), plan_.constant(0));
  std::vector<PlanValueId> results;
  for (const ValueId id : node.outputs) results.push_back(id == kNoValue ? kNone : shared(id));
  const PlanBuilder::Label otherwise = plan_.label(), end = plan_.label();
  const auto branch = [&](const Function& f) {
    body(f, [&] {
      for (size_t i = 0; i < results.size(); ++i)
        if (results[i] != kNone) hand_over(results[i], graph_.type(node.outputs[i]), f.outputs[i]);
    });
  };
  plan_.jump_if_zero(condition, otherwise);
  branch(node.bodies[0]);
  plan_.jump(end);
  plan_.place(otherwise);
  branch(node.bodies[1]);
  plan_.place(end);
}

void Planner::loop_node(const Node& node) {
  const Function& f = node.bodies[0];
  const Reg zero = plan_.constant(0), one = plan_.constant(1);
  const auto input = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; };
  const Reg trips = input(0) == kNoValue ? kNone : plan_.load_element(value(input(0)), zero);
  const Reg i = plan_.fresh(), going = plan_.fresh();
  plan_.set(i, zero);
  plan_.set(going, input(1) == kNoValue ? one : plan_.load_element(value(input(1)), zero));

  const size_t carried = f.inputs.size() - 2;
  std::vector<PlanValueId> state, next;
  for (size_t k = 0; k < carried; ++k) {
    const Type& type = graph_.type(f.inputs[k + 2]);
    const TensorType* t = type.tensor();
    const auto slot = [&] {
      return plan_.dynamic(value_type(type), t ? static_cast<uint32_t>(t->rank()) : 0,
                           graph_.value(f.inputs[k + 2]).name);
    };
    state.push_back(slot());
    next.push_back(slot());
    hand_over(state[k], type, input(k + 2));
    values_[f.inputs[k + 2]] = state[k];
    if (k < node.outputs.size() && node.outputs[k] != kNoValue) values_[node.outputs[k]] = state[k];
  }

  std::vector<Stack> stacks;
  for (size_t k = carried; k < node.outputs.size(); ++k) {
    if (node.outputs[k] == kNoValue) continue;
    const TensorType& t = *graph_.type(node.outputs[k]).tensor();
    Stack s{.from = f.outputs[k + 1]};
    std::vector<Reg> dims{i};
    for (size_t d = 1; d < t.shape.size(); ++d) {
      s.extents.push_back(plan_.fresh());
      const std::optional<int64_t> c = ir::const_int(t.shape[d]);
      plan_.set(s.extents.back(), c ? plan_.constant(*c) : zero);
      dims.push_back(s.extents.back());
    }
    s.offset = plan_.fresh();
    s.all = plan_.dynamic(elem_type(t), dims, graph_.value(node.outputs[k]).name);
    s.part = plan_.view(s.all, s.offset, elem_type(t), s.extents);
    plan_.alloc(s.all);
    values_[node.outputs[k]] = s.all;
    stacks.push_back(std::move(s));
  }

  const PlanBuilder::Label again = plan_.label(), end = plan_.label();
  plan_.place(again);
  plan_.jump_if_zero(going, end);
  if (trips != kNone) plan_.jump_if_zero(plan_.op(PlanOp::Less, i, trips), end);
  const PlanValueId number = scalar(f.inputs[0], i), condition = scalar(f.inputs[1], going);
  body(f, [&] {
    for (size_t k = 0; k < carried; ++k)
      hand_over(next[k], graph_.type(f.inputs[k + 2]), f.outputs[k + 1]);
    for (const Stack& s : stacks) {
      const TensorType& t = *graph_.type(s.from).tensor();
      const PlanValueId from = value(s.from);
      const Reg is_first = plan_.op(PlanOp::Equal, i, zero);
      Reg bits = plan_.constant(ir::bits(t.elem));
      for (size_t d = 0; d < s.extents.size(); ++d) {
        const Reg extent = plan_.load_dim(from, static_cast<uint32_t>(d));
        plan_.set(s.extents[d], plan_.select(is_first, extent, s.extents[d]));
        plan_.check(plan_.op(PlanOp::Equal, extent, s.extents[d]),
                    str(node.origin.text, ": iterations of a loop give results of other shapes"));
        bits = plan_.op(PlanOp::Mul, bits, extent);
      }
      require(ir::bits(t.elem) >= 8, "stacked results below a byte are widened by the importer");
      plan_.set(s.offset,
                plan_.op(PlanOp::FloorDiv, plan_.op(PlanOp::Mul, bits, i), plan_.constant(8)));
    }
    plan_.set(going, plan_.load_element(value(f.outputs[0]), zero));
    plan_.op_to(i, PlanOp::Add, i, one);
    for (const Stack& s : stacks) {
      plan_.resize(s.all);
      plan_.define(s.part);
      plan_.copy(s.part, value(s.from));
    }
    for (size_t k = 0; k < carried; ++k) {
      plan_.share(state[k], next[k]);
      plan_.free(next[k]);
    }
  });
  plan_.free(number);
  plan_.free(condition);
  plan_.jump(again);
  plan_.place(end);
  for (const Stack& s : stacks) plan_.resize(s.all);
}

}  // namespace tilewright::driver
