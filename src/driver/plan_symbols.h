// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "module/plan_builder.h"

namespace tilewright::driver {

/// Symbols and formulas of them as registers of the plan. A symbol's value is computed where it is
/// first asked for; inside of a body that runs several times, what was computed there is forgotten
/// at its end.
class PlanSymbols {
 public:
  /// `value_of` gives the plan's value of a graph value that is computed already.
  PlanSymbols(const graph::Graph& graph, PlanBuilder& plan,
              std::function<ValueId(graph::ValueId)> value_of);

  /// Binds the dimensions of an input.
  void bind_input(uint32_t index, graph::ValueId id);
  /// Computes in the prologue what follows from the inputs alone; afterwards is_early tells of it.
  void early();
  /// Does it mention nothing but dimensions of inputs?
  bool is_bound(const ir::Expr& e) const;
  /// Does the formula follow from the dimensions of the inputs alone?
  bool is_early(const ir::Expr& e) const;

  Reg reg(const ir::Expr& e);
  std::vector<Reg> regs(const std::vector<ir::Expr>& list);

  void begin_scope() { scopes_.emplace_back(); }
  void end_scope() { scopes_.pop_back(); }

 private:
  Reg symbol(const ir::Var& var);
  Reg compute(const graph::SymbolInfo& info);

  const graph::Graph& graph_;
  PlanBuilder& plan_;
  std::function<ValueId(graph::ValueId)> value_of_;
  std::unordered_map<ir::Var, const graph::SymbolInfo*> infos_;
  std::vector<std::unordered_map<ir::Var, Reg>> scopes_;  // the first holds the early ones
};

}  // namespace tilewright::driver
