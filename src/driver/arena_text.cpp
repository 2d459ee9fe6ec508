// SPDX-License-Identifier: Apache-2.0
#include "driver/arena_text.h"

#include <algorithm>
#include <cstdio>

#include "arith/context.h"
#include "driver/likely_sizes.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using namespace graph;

constexpr size_t kLines = 3;
constexpr size_t kLongFormula = 160;
constexpr int64_t kUsual = 1024;  // products of a few such sizes do not wrap

/// The items on which the end of the arena rests, one on the other.
std::vector<int> highest_pile(const MemoryPlan& plan, const std::vector<int64_t>& bytes) {
  const MemoryPlaces places = places_for(plan, bytes);
  const auto end = [&](int i) {
    const auto at = static_cast<size_t>(i);
    return places.offsets[at] + bytes[at];
  };
  std::vector<int> pile;
  const std::vector<int>* from = &plan.order;
  while (!from->empty()) {
    pile.push_back(*std::ranges::max_element(*from, {}, end));
    from = &plan.below[static_cast<size_t>(pile.back())];
  }
  return pile;
}

/// The formula as it is for usual sizes, and short.
///   (m * n * 32 + 7) / 8 * 2   ->   m * n * 8
std::string text_of(const Graph& graph, const ir::Expr& formula) {
  arith::Context context;
  for (const SymbolInfo& s : graph.symbols)
    context.bind(s.symbol.var, {std::max<int64_t>(s.symbol.min, 0), std::min(s.symbol.max, kUsual)},
                 s.symbol.divisor);
  std::string text = ir::print(context.simplify(formula));
  return text.size() > kLongFormula ? text.substr(0, kLongFormula) + "…" : text;
}

}  // namespace

std::vector<std::string> arena_texts(const Graph& graph, const std::vector<ArenaItem>& items,
                                     const MemoryPlan& places) {
  std::vector<std::string> out;
  for (size_t line = 0; line < kLines; ++line) {
    ir::VarMap point;
    std::string sizes;
    for (const SymbolInfo& s : graph.symbols) {
      const std::vector<int64_t> likely = likely_sizes(graph, s.symbol);
      if (likely.empty()) continue;
      const int64_t value = likely[std::min(line, likely.size() - 1)];
      point[s.symbol.var] = ir::int_imm(ir::Elem::I64, value);
      if (std::holds_alternative<FromInput>(s.source))
        sizes += str(sizes.empty() ? "" : ", ", s.symbol.var.name(), " = ", value);
    }
    if (sizes.empty()) break;
    std::vector<int64_t> bytes;
    for (const ArenaItem& item : items)
      bytes.push_back(std::max<int64_t>(
          ir::const_int(simplified(ir::substitute(item.bytes, point))).value_or(0), 0));
    ir::Expr sum = 0;
    for (const int i : highest_pile(places, bytes)) sum = sum + items[static_cast<size_t>(i)].bytes;
    const int64_t total = places_for(places, bytes).bytes;
    char mega[32];
    std::snprintf(mega, sizeof mega, "%.3f", static_cast<double>(total) / 1e6);
    const std::string text = str(mega, " MB where ", sizes, ": ", text_of(graph, sum));
    if (std::ranges::find(out, text) == out.end()) out.push_back(text);
  }
  return out;
}

}  // namespace tilewright::driver
