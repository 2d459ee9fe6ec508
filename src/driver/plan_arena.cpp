// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_arena.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/rewrite.h"

namespace tilewright::driver {
namespace {

using namespace graph;

// Sizes that a plan is made for and judged by; more of them cost time.
constexpr size_t kMaxPoints = 30;
constexpr size_t kManyItems = 2000;
// What a symbol without a declared bound counts as, and bytes beyond which nothing is bounded.
constexpr int64_t kLarge = 1024;
constexpr int64_t kMostBytes = int64_t{1} << 34;

bool is_input(const SymbolInfo& s) { return std::holds_alternative<FromInput>(s.source); }

/// A value that the symbol may have, near to the wanted one.
int64_t allowed(const ir::Symbol& s, int64_t wanted) {
  const int64_t whole = std::clamp(wanted, s.min, s.max) / s.divisor * s.divisor;
  return whole < s.min ? whole + s.divisor : whole;
}

/// Values for all symbols that follow from those of the inputs.
ir::VarMap with_formulas(const Graph& graph, ir::VarMap values) {
  for (const SymbolInfo& s : graph.symbols)
    if (const FromFormula* f = std::get_if<FromFormula>(&s.source))
      if (const auto n = ir::const_int(simplified(ir::substitute(f->formula, values))))
        values[s.symbol.var] = ir::int_imm(ir::Elem::I64, *n);
  return values;
}

/// From small to large inputs in each dimension, as many steps as can be had, and the likely ones.
std::vector<ir::VarMap> points_of(const Graph& graph) {
  std::vector<const ir::Symbol*> free;
  for (const SymbolInfo& s : graph.symbols)
    if (is_input(s)) free.push_back(&s.symbol);
  size_t steps = 2;
  while (std::pow(steps + 1, free.size()) <= kMaxPoints && steps < 6) ++steps;
  const bool together = std::pow(steps, free.size()) > kMaxPoints;  // all dimensions at once
  std::vector<ir::VarMap> out(1);
  const auto level = [](const ir::Symbol& s, double part) {
    const auto low = static_cast<double>(std::max<int64_t>(s.min, 1)),
               high = static_cast<double>(std::min(s.max, std::max(s.min, kLarge)));
    return static_cast<int64_t>(std::round(low * std::pow(std::max(high / low, 1.0), part)));
  };
  if (together) {
    out.assign(6, {});
    for (size_t i = 0; i < out.size(); ++i)
      for (const ir::Symbol* s : free)
        out[i][s->var] = allowed(*s, level(*s, static_cast<double>(i) / 5));
  } else {
    for (const ir::Symbol* s : free) {
      std::set<int64_t> values(s->likely.begin(), s->likely.end());
      for (size_t i = 0; i < steps; ++i)
        values.insert(
            allowed(*s, level(*s, static_cast<double>(i) / static_cast<double>(steps - 1))));
      std::vector<ir::VarMap> more;
      for (const ir::VarMap& point : out)
        for (const int64_t value : values) {
          more.push_back(point);
          more.back()[s->var] = value;
        }
      out = std::move(more);
    }
  }
  for (ir::VarMap& point : out) point = with_formulas(graph, std::move(point));
  return out;
}

}  // namespace

SizeBounds::SizeBounds(const Graph& graph) {
  for (const SymbolInfo& s : graph.symbols) {
    // A size that only the type of sizes bounds says nothing about memory.
    arith::Interval range{s.symbol.min,
                          s.symbol.max < kMaxSize ? s.symbol.max : arith::Interval::kMax};
    if (const FromFormula* f = std::get_if<FromFormula>(&s.source)) {
      const arith::Interval value = context_.bounds(f->formula);
      if (value.lo <= range.hi && range.lo <= value.hi)
        range = {std::max(range.lo, value.lo), std::min(range.hi, value.hi)};
    }
    context_.bind(s.symbol.var, range, is_input(s) ? s.symbol.divisor : 1);
  }
}

std::optional<int64_t> SizeBounds::most(const ir::Expr& formula) const {
  const int64_t hi = context_.bounds(formula).hi;
  return hi <= kMostBytes ? std::optional(std::max<int64_t>(hi, 0)) : std::nullopt;
}

ArenaPlan plan_arena(const Graph& graph, const std::vector<ArenaItem>& items) {
  struct Candidate {
    std::vector<int64_t> bytes;
    MemoryPlan plan;
  };
  std::vector<Candidate> candidates;
  for (const ir::VarMap& point : points_of(graph)) {
    Candidate c;
    std::vector<MemoryItem> sized;
    for (const ArenaItem& item : items) {
      const auto n = ir::const_int(simplified(ir::substitute(item.bytes, point)));
      c.bytes.push_back(n ? std::max<int64_t>(*n, 0) : 0);
      sized.push_back({c.bytes.back(), item.first, item.last});
    }
    if (std::ranges::find(candidates, c.bytes, &Candidate::bytes) != candidates.end()) continue;
    c.plan = plan_memory(sized);
    candidates.push_back(std::move(c));
    if (items.size() > kManyItems) break;
  }
  ArenaPlan out;
  const auto waste = [](int64_t bytes, int64_t live) {
    return static_cast<double>(bytes + 1) / static_cast<double>(live + 1);
  };
  for (const Candidate& c : candidates) {
    ArenaPlan plan{.places = c.plan};
    for (const Candidate& other : candidates) {
      const int64_t bytes = places_for(c.plan, other.bytes).bytes, live = other.plan.live_bytes;
      if (waste(bytes, live) < waste(plan.worst_bytes, plan.worst_live_bytes)) continue;
      plan.worst_bytes = bytes;
      plan.worst_live_bytes = live;
    }
    if (out.places.order.empty() || waste(plan.worst_bytes, plan.worst_live_bytes) <
                                        waste(out.worst_bytes, out.worst_live_bytes))
      out = std::move(plan);
  }
  const SizeBounds bounds(graph);
  std::vector<int64_t> most;
  for (const ArenaItem& item : items) {
    const std::optional<int64_t> n = bounds.most(item.bytes);
    if (!n) return out;
    most.push_back(*n);
  }
  if (const int64_t bytes = places_for(out.places, most).bytes; bytes <= kMostBytes)
    out.most = bytes;
  return out;
}

}  // namespace tilewright::driver
