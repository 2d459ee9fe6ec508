// SPDX-License-Identifier: Apache-2.0
#include "graph/symbol_nodes.h"

#include <algorithm>

namespace tilewright::graph {

std::vector<int> SymbolNodes::needed(const Node& node, const std::vector<size_t>& symbols) {
  numbers_.resize(graph_.symbols.size(), kUnknown);
  std::vector<size_t> open;  // that have no number yet
  const auto find = [&](const std::vector<size_t>& list) {
    for (const size_t s : list)
      if (numbers_[s] == kUnknown) {
        numbers_[s] = kNone;
        open.push_back(s);
      }
  };
  find(symbols);
  for (size_t i = 0; i < open.size(); ++i) {
    std::vector<size_t> parts;
    dependence_.source(open[i], parts);
    find(parts);
  }
  std::vector<int> out;
  if (!open.empty()) {
    std::unordered_set<ValueId> own;
    for_each_made(node, [&](ValueId id) { own.insert(id); });
    std::ranges::sort(open);  // each after those it follows from
    for (const size_t s : open) add(s, own, out);
  }
  for (const size_t s : symbols)
    if (numbers_[s] >= 0) out.push_back(numbers_[s]);
  for (const size_t s : open)
    if (numbers_[s] == kOwn) numbers_[s] = kUnknown;  // others may depend on what the node makes
  return out;
}

/// Gives the symbol its number. When it follows from what the node itself makes, the node depends
/// on the rest.
void SymbolNodes::add(size_t symbol, const std::unordered_set<ValueId>& own,
                      std::vector<int>& out) {
  std::vector<size_t> parts;
  const ValueId value = dependence_.source(symbol, parts);
  std::vector<int> from;
  bool is_own = own.contains(value);
  if (const auto made = makers_.find(value); !is_own && made != makers_.end()) {
    from.push_back(made->second);
    sources_.insert(value);
  }
  for (const size_t part : parts) {
    is_own = is_own || numbers_[part] == kOwn;
    if (numbers_[part] >= 0) from.push_back(numbers_[part]);
  }
  std::ranges::sort(from);
  from.erase(std::ranges::unique(from).begin(), from.end());
  if (is_own) {
    numbers_[symbol] = kOwn;
    out.insert(out.end(), from.begin(), from.end());
  } else if (from.size() > 1) {
    numbers_[symbol] = first_ + static_cast<int>(producers_.size());
    producers_.push_back(std::move(from));
  } else if (from.size() == 1) {
    numbers_[symbol] = from[0];
  }
}

}  // namespace tilewright::graph
