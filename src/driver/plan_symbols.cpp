// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_symbols.h"

#include <algorithm>

#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using namespace graph;

PlanOp plan_op(ir::BinaryOp op) {
  switch (op) {
    case ir::BinaryOp::Add: return PlanOp::Add;
    case ir::BinaryOp::Sub: return PlanOp::Sub;
    case ir::BinaryOp::Mul: return PlanOp::Mul;
    case ir::BinaryOp::Div: return PlanOp::FloorDiv;
    case ir::BinaryOp::Mod: return PlanOp::FloorMod;
    case ir::BinaryOp::Min: return PlanOp::Min;
    case ir::BinaryOp::Max: return PlanOp::Max;
    case ir::BinaryOp::Eq: return PlanOp::Equal;
    case ir::BinaryOp::Lt: return PlanOp::Less;
    case ir::BinaryOp::Le: return PlanOp::LessEqual;
    case ir::BinaryOp::And: return PlanOp::And;
    case ir::BinaryOp::Or: return PlanOp::Or;
    default: throw InternalError("an operator that formulas of sizes do not have");
  }
}

}  // namespace

PlanSymbols::PlanSymbols(const Graph& graph, PlanBuilder& plan,
                         std::function<tilewright::ValueId(graph::ValueId)> value_of)
    : graph_(graph), plan_(plan), value_of_(std::move(value_of)) {
  for (const SymbolInfo& s : graph.symbols) infos_.emplace(s.symbol.var, &s);
  scopes_.emplace_back();
}

void PlanSymbols::bind_input(uint32_t index, graph::ValueId id) {
  const TensorType* type = graph_.type(id).tensor();
  if (!type) return;
  for (uint32_t axis = 0; axis < type->shape.size(); ++axis) {
    const Dim& dim = type->shape[axis];
    if (const std::optional<int64_t> c = ir::const_int(dim)) {
      plan_.bind_to(index, axis, plan_.constant(*c));
      continue;
    }
    const ir::VarNode* node = dim.as<ir::VarNode>();
    require(node, "a dimension of an input is a constant or a symbol");
    const ir::Var var = ir::Var::of(*node);
    const SymbolInfo& info = *infos_.at(var);
    if (const auto found = scopes_[0].find(var); found != scopes_[0].end()) {
      plan_.bind_to(index, axis, found->second);
      continue;
    }
    const auto [min, max] = given(info);
    scopes_[0][var] =
        plan_.bind(index, axis,
                   {.min = min, .max = max, .divisor = info.symbol.divisor, .symbol = var.name()});
  }
}

bool PlanSymbols::is_bound(const ir::Expr& e) const {
  return std::ranges::all_of(ir::vars_of(e), [&](const ir::Var& var) {
    return std::holds_alternative<FromInput>(infos_.at(var)->source);
  });
}

bool PlanSymbols::is_early(const ir::Expr& e) const {
  for (const ir::Var& var : ir::vars_of(e))
    if (!scopes_[0].contains(var)) {
      const SymbolInfo& info = *infos_.at(var);
      const FromFormula* f = std::get_if<FromFormula>(&info.source);
      if (!f || !is_early(f->formula)) return false;
    }
  return true;
}

void PlanSymbols::early() {
  for (const SymbolInfo& info : graph_.symbols)
    if (is_early(info.symbol.var)) symbol(info.symbol.var);
  begin_scope();
}

std::vector<Reg> PlanSymbols::regs(const std::vector<ir::Expr>& list) {
  std::vector<Reg> out;
  for (const ir::Expr& e : list) out.push_back(reg(e));
  return out;
}

Reg PlanSymbols::reg(const ir::Expr& e) {
  if (const std::optional<int64_t> c = ir::const_int(e)) return plan_.constant(*c);
  if (const ir::VarNode* v = e.as<ir::VarNode>()) return symbol(ir::Var::of(*v));
  if (const ir::Binary* b = e.as<ir::Binary>()) {
    const Reg x = reg(b->a), y = reg(b->b);
    if (b->op == ir::BinaryOp::Ne) return plan_.op(PlanOp::Not, plan_.op(PlanOp::Equal, x, y));
    return plan_.op(plan_op(b->op), x, y);
  }
  if (const ir::Unary* u = e.as<ir::Unary>()) {
    const Reg x = reg(u->a);
    if (u->op == ir::UnaryOp::Not) return plan_.op(PlanOp::Not, x);
    const Reg minus = plan_.op(PlanOp::Sub, plan_.constant(0), x);
    if (u->op == ir::UnaryOp::Neg) return minus;
    require(u->op == ir::UnaryOp::Abs, "an operator that formulas of sizes do not have");
    return plan_.op(PlanOp::Max, x, minus);
  }
  if (const ir::Select* s = e.as<ir::Select>())
    return plan_.select(reg(s->cond), reg(s->yes), reg(s->no));
  if (const ir::Cast* c = e.as<ir::Cast>())
    if (c->value.type() == ir::kBool || c->value.type() == ir::kIndex) return reg(c->value);
  throw InternalError(str("a formula of sizes that the plan cannot compute: ", ir::print(e)));
}

Reg PlanSymbols::symbol(const ir::Var& var) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(var); found != scope->end()) return found->second;
  const Reg value = compute(*infos_.at(var));
  scopes_.back()[var] = value;
  return value;
}

Reg PlanSymbols::compute(const SymbolInfo& info) {
  if (const FromElement* e = std::get_if<FromElement>(&info.source)) {
    const Reg raw = plan_.load_element(value_of_(e->value), plan_.constant(e->index));
    return plan_.op(PlanOp::Min, plan_.op(PlanOp::Max, raw, plan_.constant(info.symbol.min)),
                    plan_.constant(info.symbol.max));
  }
  if (const FromExtent* e = std::get_if<FromExtent>(&info.source))
    return plan_.load_dim(value_of_(e->value), static_cast<uint32_t>(e->axis));
  const FromFormula* f = std::get_if<FromFormula>(&info.source);
  require(f, "a symbol of an input that has no place in one");
  const Reg value = reg(f->formula);
  const Reg fits =
      plan_.op(PlanOp::And, plan_.op(PlanOp::LessEqual, plan_.constant(info.symbol.min), value),
               plan_.op(PlanOp::LessEqual, value, plan_.constant(info.symbol.max)));
  plan_.check(fits, str(info.origin.text, ": a size, ", ir::print(f->formula), ", is outside of ",
                        info.symbol.min, "..", info.symbol.max));
  return value;
}

}  // namespace tilewright::driver
