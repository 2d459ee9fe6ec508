// SPDX-License-Identifier: Apache-2.0
#include "driver/variants.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "support/str.h"
#include "tune/choose/few_rows.h"

namespace tilewright::driver {
namespace {

using namespace graph;

constexpr size_t kMaxPoints = 16;

const SymbolInfo* find(const Graph& graph, const ir::Var& var) {
  const auto found =
      std::ranges::find_if(graph.symbols, [&](const SymbolInfo& s) { return s.symbol.var == var; });
  return found == graph.symbols.end() ? nullptr : &*found;
}

/// The symbols of inputs with likely values that `var` depends on.
void add_bases(const Graph& graph, const ir::Var& var, std::vector<const ir::Symbol*>& out) {
  const SymbolInfo* info = find(graph, var);
  if (!info) return;
  if (const FromFormula* f = std::get_if<FromFormula>(&info->source)) {
    for (const ir::Var& v : ir::vars_of(f->formula)) add_bases(graph, v, out);
  } else if (std::holds_alternative<FromInput>(info->source) && !info->symbol.likely.empty() &&
             std::ranges::find(out, &info->symbol) == out.end()) {
    out.push_back(&info->symbol);
  }
}

}  // namespace

std::vector<Point> points_for(const Graph& graph, const std::vector<ir::Expr>& scalars) {
  std::vector<const ir::Symbol*> bases;
  for (const ir::Expr& e : scalars)
    for (const ir::Var& var : ir::vars_of(e)) add_bases(graph, var, bases);
  if (bases.empty()) return {};
  std::ranges::sort(bases, {}, [&](const ir::Symbol* s) { return s->var.name(); });
  std::vector<Point> out(1);
  for (const ir::Symbol* s : bases) {
    std::vector<int64_t> values = s->likely;
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
    std::vector<Point> more;
    for (const Point& p : out)
      for (const int64_t n : values) {
        Point next = p;
        next.when = ir::both(p.when, ir::eq(s->var, n));
        next.values[s->var] = ir::int_imm(ir::Elem::I64, n);
        next.text += str(p.text.empty() ? "" : ",", s->var.name(), "=", n);
        more.push_back(std::move(next));
      }
    out = std::move(more);
    if (out.size() > kMaxPoints) return {};
  }
  for (Point& p : out)
    for (const SymbolInfo& s : graph.symbols)
      if (const FromFormula* f = std::get_if<FromFormula>(&s.source))
        if (const auto n = ir::const_int(simplified(ir::substitute(f->formula, p.values))))
          p.values[s.symbol.var] = ir::int_imm(ir::Elem::I64, *n);
  return out;
}

std::optional<Point> single_row(const ir::LoopFunc& func, const std::vector<ir::Expr>& scalars) {
  const std::vector<ir::Var> rows = tune::row_symbols(func);
  std::optional<Point> out;
  for (size_t i = 0; i < scalars.size(); ++i) {
    const ir::Symbol& s = func.symbols[i];
    if (std::ranges::find(rows, s.var) == rows.end() || s.min > 1 || s.divisor > 1) continue;
    if (!out) out.emplace();
    out->when = ir::both(out->when, ir::eq(scalars[i], 1));
    out->values[s.var] = ir::int_imm(ir::Elem::I64, 1);
    out->text += str(out->text.empty() ? "" : ",", ir::print(scalars[i]), "=1");
  }
  return out;
}

ir::LoopFunc specialised(const ir::LoopFunc& func, const ir::VarMap& values) {
  ir::LoopFunc out = func;
  std::erase_if(out.symbols, [&](const ir::Symbol& s) { return values.contains(s.var); });
  ir::BufferMap buffers;
  const auto resized = [&](const ir::Buffer& b) {
    std::vector<ir::Expr> shape;
    for (const ir::Expr& e : b->shape) shape.push_back(simplified(ir::substitute(e, values)));
    return buffers[b] = ir::make_buffer(b->name, b->elem, std::move(shape), b->scope, b->layout,
                                        b->alignment, b->span);
  };
  for (ir::Param& p : out.params) p.buffer = resized(p.buffer);
  ir::walk(func.body, [&](const ir::Alloc& a) { resized(a.buffer); });
  // Loops of one iteration stay: they are where schedules look for them.
  out.body = ir::rewrite(
      ir::substitute(ir::substitute_buffers(func.body, buffers), values),
      [](const ir::Binary& b, auto& self) { return ir::binary(b.op, self(b.a), self(b.b)); });
  return out;
}

}  // namespace tilewright::driver
