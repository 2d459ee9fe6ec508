// SPDX-License-Identifier: Apache-2.0
#include "te/over_time.h"

#include <algorithm>
#include <unordered_map>

#include "ir/rewrite.h"

namespace tilewright::te {
namespace {

class OverTime {
 public:
  OverTime(const ir::Var& variable, const ir::Expr& extent)
      : variable_(variable), extent_(extent) {}

  std::optional<Tensor> run(const Tensor& t) {
    if (!possible(t.stage())) return std::nullopt;
    if (depends(t.stage())) return Tensor(with_axis(t.stage()), t.output());
    Shape shape{extent_};
    shape.insert(shape.end(), t.shape().begin(), t.shape().end());
    return compute(t.name(), shape, [&](const std::vector<Var>& at) {
      return t.at(std::vector<Expr>(at.begin() + 1, at.end()));
    });
  }

 private:
  bool depends(const Stage& stage) {
    if (const auto known = depends_.find(stage); known != depends_.end()) return known->second;
    bool out = std::ranges::any_of(stage->reads,
                                   [&](const Tensor& read) { return depends(read.stage()); });
    if (const Compute* c = stage->as<Compute>())
      out = out || std::ranges::any_of(c->values,
                                       [&](const ir::Expr& e) { return ir::uses(e, variable_); });
    if (const Scan* s = stage->as<Scan>())
      out = out || std::ranges::any_of(s->body, [&](const Stage& b) { return depends(b); });
    return depends_[stage] = out;
  }

  /// No scan depends on the variable.
  bool possible(const Stage& stage) {
    if (!depends(stage)) return true;
    return !stage->as<Scan>() && std::ranges::all_of(stage->reads, [&](const Tensor& read) {
      return possible(read.stage());
    });
  }

  Stage with_axis(const Stage& stage) {
    if (const auto known = made_.find(stage); known != made_.end()) return known->second;
    const Compute& before = *stage->as<Compute>();
    const ir::Var time(variable_.name());
    ir::VarMap vars{{variable_, time}};
    const auto renamed = [&](const std::vector<Iter>& axes) {
      std::vector<Iter> out;
      for (const Iter& axis : axes) {
        out.push_back({ir::Var(axis.var.name()), axis.extent});
        vars[axis.var] = out.back().var;
      }
      return out;
    };
    Compute now{.axes = renamed(before.axes),
                .reduce_axes = renamed(before.reduce_axes),
                .reducer = before.reducer,
                .values = {}};
    now.axes.insert(now.axes.begin(), {time, extent_});

    StageNode node{.outputs = {}, .reads = {}, .def = {}, .span = stage->span};
    std::unordered_map<ir::Buffer, ir::Buffer> buffers;
    for (const Tensor& read : stage->reads) {
      const Tensor t =
          depends(read.stage()) ? Tensor(with_axis(read.stage()), read.output()) : read;
      add_once(node.reads, t);
      if (t.buffer() != read.buffer()) buffers.emplace(read.buffer(), t.buffer());
    }
    for (const ir::Expr& value : before.values)
      now.values.push_back(
          ir::rewrite(ir::substitute(value, vars), [&](const ir::Load& l, auto& self) -> ir::Expr {
            const auto moved = buffers.find(l.buffer);
            if (moved == buffers.end()) return self.children(l);
            std::vector<ir::Expr> at{time};
            for (const ir::Expr& e : l.indices) at.push_back(self(e));
            return ir::load(moved->second, std::move(at));
          }));
    Shape shape;
    for (const Iter& axis : now.axes) shape.push_back(axis.extent);
    for (const ir::Buffer& b : stage->outputs)
      node.outputs.push_back(ir::make_buffer(b->name, b->elem,
                                             checked_shape(b->name, b->elem, shape, stage->span),
                                             {}, nullptr, 0, stage->span));
    node.def = std::move(now);
    return made_[stage] = make_stage(std::move(node));
  }

  const ir::Var& variable_;
  const ir::Expr& extent_;
  std::unordered_map<Stage, bool> depends_;
  std::unordered_map<Stage, Stage> made_;
};

}  // namespace

std::optional<Tensor> over_time(const Tensor& t, const ir::Var& variable, const ir::Expr& extent) {
  return OverTime(variable, extent).run(t);
}

}  // namespace tilewright::te
