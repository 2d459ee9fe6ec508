// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "graph/type.h"

namespace tilewright::graph {

struct SymbolInfo;

/// Finds the symbols of a graph, of which a small file may make many thousands, without looking at
/// each. What it knows may be out of date: it reads what was added, begins anew where it notices
/// other changes, and checks what it finds. A symbol whose source was changed may not be found by
/// it.
class SymbolIndex {
 public:
  using Symbols = std::vector<SymbolInfo>;

  /// The symbol with this variable; null when there is none.
  const SymbolInfo* with_var(const Symbols& symbols, const ir::ExprNode& var);
  /// A size (not below 0) that has this formula.
  const SymbolInfo* with_formula(const Symbols& symbols, const Dim& formula);
  const SymbolInfo* with_element(const Symbols& symbols, int32_t value, int64_t index);

 private:
  void read(const Symbols& symbols);

  size_t read_ = 0;
  const ir::ExprNode* last_ = nullptr;  // the last variable that was read
  std::unordered_map<const ir::ExprNode*, size_t> vars_;
  std::unordered_multimap<size_t, size_t> formulas_;  // by hash
  std::map<std::pair<int32_t, int64_t>, size_t> elements_;
};

}  // namespace tilewright::graph
