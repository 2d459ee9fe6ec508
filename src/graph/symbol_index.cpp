// SPDX-License-Identifier: Apache-2.0
#include "graph/symbol_index.h"

#include <algorithm>

#include "graph/graph.h"
#include "ir/equal.h"

namespace tilewright::graph {

void SymbolIndex::read(const Symbols& symbols) {
  // Rules take back what they tried, thousands of times, and others stand in its place then. What
  // is known of those that are gone stays: whoever finds it checks it. Variables may come back at
  // the same address, so a few more than need be are read again.
  constexpr size_t kMore = 16;
  if (read_ > symbols.size() || (read_ > 0 && symbols[read_ - 1].symbol.var.get() != last_)) {
    read_ = std::min(read_, symbols.size());
    const auto is_known = [&](size_t i) {
      const auto found = vars_.find(symbols[i].symbol.var.get());
      return found != vars_.end() && found->second == i;
    };
    while (read_ > 0 && !is_known(read_ - 1)) --read_;
    read_ -= std::min(read_, kMore);
    last_ = read_ > 0 ? symbols[read_ - 1].symbol.var.get() : nullptr;
  }
  for (; read_ < symbols.size(); ++read_) {
    const SymbolInfo& s = symbols[read_];
    last_ = s.symbol.var.get();
    vars_[last_] = read_;
    if (const FromFormula* f = std::get_if<FromFormula>(&s.source))
      formulas_.emplace(ir::hash(f->formula), read_);
    if (const FromElement* e = std::get_if<FromElement>(&s.source))
      elements_[{e->value, e->index}] = read_;
  }
}

const SymbolInfo* SymbolIndex::with_var(const Symbols& symbols, const ir::ExprNode& var) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    read(symbols);
    const auto found = vars_.find(&var);
    if (found == vars_.end()) return nullptr;
    if (found->second < symbols.size() && symbols[found->second].symbol.var.get() == &var)
      return &symbols[found->second];
    *this = {};
  }
  return nullptr;
}

const SymbolInfo* SymbolIndex::with_formula(const Symbols& symbols, const Dim& formula) {
  read(symbols);
  const auto [first, last] = formulas_.equal_range(ir::hash(formula));
  for (auto found = first; found != last; ++found) {
    if (found->second >= symbols.size()) continue;
    const SymbolInfo& s = symbols[found->second];
    const FromFormula* f = std::get_if<FromFormula>(&s.source);
    if (f && s.symbol.min == 0 && ir::equal(f->formula, formula)) return &s;
  }
  return nullptr;
}

const SymbolInfo* SymbolIndex::with_element(const Symbols& symbols, int32_t value, int64_t index) {
  read(symbols);
  const auto found = elements_.find({value, index});
  if (found == elements_.end() || found->second >= symbols.size()) return nullptr;
  const SymbolInfo& s = symbols[found->second];
  const FromElement* e = std::get_if<FromElement>(&s.source);
  return e && e->value == value && e->index == index ? &s : nullptr;
}

}  // namespace tilewright::graph
