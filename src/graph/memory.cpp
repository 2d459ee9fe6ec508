// SPDX-License-Identifier: Apache-2.0
#include "graph/memory.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace tilewright::graph {
namespace {

/// Items that the search may place in all, again and again; moves of one item.
constexpr size_t kMaxPlacings = 100'000;
constexpr size_t kMaxMoves = 400;

int64_t rounded(int64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

struct Layout {
  std::vector<int> order;  // in which the items were placed
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};

class Placer {
 public:
  explicit Placer(const std::vector<MemoryItem>& items) : items_(items), rivals_(items.size()) {
    for (MemoryItem& item : items_) item.bytes = rounded(item.bytes);
    std::vector<int> by_first(items.size());
    std::iota(by_first.begin(), by_first.end(), 0);
    std::ranges::stable_sort(by_first, {}, [&](int i) { return at(i).first; });
    std::vector<int> alive;
    int64_t live = 0;
    for (const int i : by_first) {
      std::erase_if(alive, [&](int j) {
        const bool over = at(j).last < at(i).first;
        if (over) live -= at(j).bytes;
        return over;
      });
      for (const int j : alive) {
        rivals_[static_cast<size_t>(i)].push_back(j);
        rivals_[static_cast<size_t>(j)].push_back(i);
      }
      alive.push_back(i);
      live += at(i).bytes;
      live_bytes = std::max(live_bytes, live);
    }
  }

  /// Each item at the lowest place where it meets none that lives at the same time.
  Layout place(std::vector<int> order) const {
    Layout out{.order = std::move(order), .offsets = std::vector<int64_t>(items_.size(), -1)};
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const int i : out.order) {
      taken.clear();
      for (const int j : rivals_[static_cast<size_t>(i)])
        if (const int64_t from = out.offsets[static_cast<size_t>(j)]; from >= 0)
          taken.emplace_back(from, from + at(j).bytes);
      std::ranges::sort(taken);
      int64_t offset = 0;
      for (const auto& [from, to] : taken) {
        if (offset + at(i).bytes <= from) break;
        offset = std::max(offset, to);
      }
      out.offsets[static_cast<size_t>(i)] = offset;
      out.bytes = std::max(out.bytes, offset + at(i).bytes);
    }
    return out;
  }

  Layout best() const {
    const auto size = [&](int i) { return static_cast<double>(at(i).bytes); };
    const auto life = [&](int i) { return static_cast<double>(at(i).last - at(i).first + 1); };
    const std::function<double(int)> keys[] = {
        [&](int i) { return size(i); },
        [&](int i) { return size(i) * life(i); },
        [&](int i) { return life(i); },
        [&](int i) { return -static_cast<double>(at(i).first); },
    };
    Layout best;
    for (const auto& key : keys) {
      std::vector<int> order(items_.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int a, int b) { return key(a) > key(b); });
      Layout layout = place(std::move(order));
      if (best.offsets.empty() || layout.bytes < best.bytes) best = std::move(layout);
    }
    return improved(std::move(best));
  }

  /// Places earlier what reached highest, again and again, and keeps what is not worse.
  Layout improved(Layout best) const {
    uint32_t random = 1;
    const size_t moves = std::min(kMaxMoves, kMaxPlacings / std::max<size_t>(items_.size(), 1));
    for (size_t move = 0; move < moves && best.bytes > live_bytes; ++move) {
      const auto top = std::ranges::find_if(best.order, [&](int i) {
        return best.offsets[static_cast<size_t>(i)] + at(i).bytes == best.bytes;
      });
      const auto from = top - best.order.begin();
      if (from == 0) break;
      random = random * 1664525 + 1013904223;
      const auto to = static_cast<ptrdiff_t>((random >> 8) % static_cast<uint32_t>(from));
      std::vector<int> order = best.order;
      std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
      Layout layout = place(std::move(order));
      if (layout.bytes <= best.bytes) best = std::move(layout);
    }
    return best;
  }

  /// Of the rivals that stand lower, those that no other of them stands on.
  std::vector<int> below(int i, const std::vector<int>& rank) const {
    std::vector<int> lower;
    for (const int j : rivals_[static_cast<size_t>(i)])
      if (rank[static_cast<size_t>(j)] < rank[static_cast<size_t>(i)]) lower.push_back(j);
    std::ranges::sort(lower, std::greater<>(), [&](int j) { return rank[static_cast<size_t>(j)]; });
    std::vector<int> out;
    for (const int j : lower)
      if (std::ranges::none_of(out, [&](int k) { return meet(j, k); })) out.push_back(j);
    return out;
  }

  const MemoryItem& at(int i) const { return items_[static_cast<size_t>(i)]; }
  int64_t live_bytes = 0;

 private:
  bool meet(int a, int b) const { return at(a).first <= at(b).last && at(b).first <= at(a).last; }

  std::vector<MemoryItem> items_;
  std::vector<std::vector<int>> rivals_;  // by item: what lives at the same time
};

}  // namespace

MemoryPlan plan_memory(const std::vector<MemoryItem>& items) {
  const Placer placer(items);
  const Layout layout = placer.best();
  MemoryPlan plan;
  plan.order.resize(items.size());
  std::iota(plan.order.begin(), plan.order.end(), 0);
  std::ranges::stable_sort(plan.order, {},
                           [&](int i) { return layout.offsets[static_cast<size_t>(i)]; });
  std::vector<int> rank(items.size());
  for (size_t k = 0; k < plan.order.size(); ++k)
    rank[static_cast<size_t>(plan.order[k])] = static_cast<int>(k);
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < items.size(); ++i) {
    plan.below.push_back(placer.below(static_cast<int>(i), rank));
    bytes.push_back(items[i].bytes);
  }
  // Standing on what is below may only lower an item, for its place was above all of them.
  MemoryPlaces places = places_for(plan, bytes);
  plan.offsets = std::move(places.offsets);
  plan.bytes = places.bytes;
  plan.live_bytes = placer.live_bytes;
  return plan;
}

MemoryPlaces places_for(const MemoryPlan& plan, const std::vector<int64_t>& bytes) {
  MemoryPlaces out{.offsets = std::vector<int64_t>(bytes.size()), .bytes = 0};
  const auto end = [&](int i) {
    return out.offsets[static_cast<size_t>(i)] + rounded(bytes[static_cast<size_t>(i)]);
  };
  for (const int i : plan.order) {
    for (const int j : plan.below[static_cast<size_t>(i)])
      out.offsets[static_cast<size_t>(i)] = std::max(out.offsets[static_cast<size_t>(i)], end(j));
    out.bytes = std::max(out.bytes, end(i));
  }
  return out;
}

}  // namespace tilewright::graph
