// SPDX-License-Identifier: Apache-2.0
#include "graph/narrow.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "ir/rewrite.h"

namespace tilewright::graph {
namespace {

/// The one symbol that the condition is about, where a run gives it; else null.
SymbolInfo* subject(Graph& graph, const ir::Expr& condition) {
  const std::unordered_set<ir::Var> vars = ir::vars_of(condition);
  if (vars.size() != 1) return nullptr;
  const auto found = std::ranges::find_if(
      graph.symbols, [&](const SymbolInfo& s) { return s.symbol.var == *vars.begin(); });
  if (found == graph.symbols.end() || !std::holds_alternative<FromInput>(found->source))
    return nullptr;
  return &*found;
}

/// n < 513, n <= 512: the greatest value.
std::optional<int64_t> most(const ir::Expr& condition) {
  const ir::Binary* b = condition.as<ir::Binary>();
  if (!b || !b->a.as<ir::VarNode>()) return std::nullopt;
  const std::optional<int64_t> c = ir::const_int(b->b);
  if (c && b->op == ir::BinaryOp::Lt) return *c - 1;
  if (c && b->op == ir::BinaryOp::Le) return *c;
  return std::nullopt;
}

/// 0 < n, 1 <= n: the least value.
std::optional<int64_t> least(const ir::Expr& condition) {
  const ir::Binary* b = condition.as<ir::Binary>();
  if (!b || !b->b.as<ir::VarNode>()) return std::nullopt;
  const std::optional<int64_t> c = ir::const_int(b->a);
  if (c && b->op == ir::BinaryOp::Lt) return *c + 1;
  if (c && b->op == ir::BinaryOp::Le) return *c;
  return std::nullopt;
}

/// Of any other condition: is it false for this value?
bool fails(const ir::Expr& condition, const ir::Var& var, int64_t value) {
  const ir::VarMap map = {{var, ir::int_imm(ir::Elem::I64, value)}};
  return ir::is_const(simplified(ir::substitute(condition, map)), 0);
}

bool narrow(Graph& graph, const ir::Expr& condition) {
  if (const ir::Binary* b = condition.as<ir::Binary>(); b && b->op == ir::BinaryOp::And) {
    const bool first = narrow(graph, b->a), second = narrow(graph, b->b);
    return first || second;
  }
  SymbolInfo* info = subject(graph, condition);
  if (!info) return false;
  ir::Symbol& s = info->symbol;
  int64_t min = s.min, max = s.max;
  if (const std::optional<int64_t> m = most(condition)) max = std::min(max, *m);
  if (const std::optional<int64_t> m = least(condition)) min = std::max(min, *m);
  constexpr int64_t kTried = 8;
  while (min - s.min < kTried && min < max && fails(condition, s.var, min)) ++min;
  if (min > max || (min == s.min && max == s.max)) return false;
  if (!info->given) info->given = {s.min, s.max};
  s.min = min;
  s.max = max;
  return true;
}

}  // namespace

bool narrow(Graph& graph, size_t first, size_t last) {
  bool found = false;
  for (size_t i = first; i < last; ++i) found = narrow(graph, graph.checks[i].condition) || found;
  return found;
}

void forget_formulas(Graph& graph, size_t symbols, size_t checks) {
  std::unordered_set<ir::Var> used;
  for (size_t i = checks; i < graph.checks.size(); ++i)
    used.merge(ir::vars_of(graph.checks[i].condition));
  for (size_t i = graph.symbols.size(); i-- > symbols;) {
    const auto* f = std::get_if<FromFormula>(&graph.symbols[i].source);
    if (!f) continue;
    if (used.contains(graph.symbols[i].symbol.var))
      used.merge(ir::vars_of(f->formula));
    else
      graph.symbols.erase(graph.symbols.begin() + static_cast<ptrdiff_t>(i));
  }
  graph.symbol_index = {};
}

void narrow_again(Graph& graph, size_t last) {
  bool any = false;
  for (SymbolInfo& s : graph.symbols)
    if (s.given) {
      std::tie(s.symbol.min, s.symbol.max) = *std::exchange(s.given, std::nullopt);
      any = true;
    }
  if (any) narrow(graph, 0, last);
}

}  // namespace tilewright::graph
