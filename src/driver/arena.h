// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace tilewright::driver {

/// Offsets of values of known size in one arena: the largest first, each at the lowest place where
/// it meets none that lives at the same time.
class Arena {
 public:
  struct Item {
    graph::ValueId id;
    int64_t bytes;
    int first, last;  // nodes
    int64_t offset = 0;
  };

  void add(Item item) { items_.push_back(item); }

  void place() {
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
    std::vector<const Item*> placed;
    for (Item& item : items_) {
      std::vector<const Item*> rivals;
      for (const Item* p : placed)
        if (p->first <= item.last && item.first <= p->last) rivals.push_back(p);
      std::sort(rivals.begin(), rivals.end(),
                [](const Item* a, const Item* b) { return a->offset < b->offset; });
      int64_t at = 0;
      for (const Item* r : rivals) {
        if (at + item.bytes <= r->offset) break;
        at = std::max(at, r->offset + r->bytes);
      }
      item.offset = at;
      bytes_ = std::max(bytes_, at + item.bytes);
      placed.push_back(&item);
      offsets_[item.id] = at;
    }
  }

  bool has(graph::ValueId id) const { return offsets_.contains(id); }
  int64_t offset(graph::ValueId id) const { return offsets_.at(id); }
  int64_t bytes() const { return bytes_; }

 private:
  std::vector<Item> items_;
  std::unordered_map<graph::ValueId, int64_t> offsets_;
  int64_t bytes_ = 0;
};

}  // namespace tilewright::driver
