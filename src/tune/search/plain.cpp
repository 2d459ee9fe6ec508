// SPDX-License-Identifier: Apache-2.0
// The strategies that learn nothing about programs: chance, order, and walks over measured times.
#include <algorithm>
#include <cmath>

#include "tune/search/state.h"

namespace tilewright::tune {

// Draws in a row that give nothing new before the points are run through instead.
constexpr int kFruitless = 64;

void Search::State::propose_random(size_t count, std::vector<Point>& out) {
  for (int misses = 0; out.size() < count && misses < kFruitless;) {
    const auto p = space.random(random);
    if (!p) return;
    if (take(*p)) {
      out.push_back(*p);
      misses = 0;
    } else {
      ++misses;
    }
  }
}

void Search::State::propose_next(size_t count, std::vector<Point>& out) {
  while (out.size() < count) {
    cursor = cursor ? space.next(*cursor) : space.first();
    if (!cursor) {
      exhausted = true;
      return;
    }
    if (take(*cursor)) out.push_back(*cursor);
  }
}

void Search::State::propose_walks(size_t count, std::vector<Point>& out) {
  // Who knows a good point walks from there, who knows none starts anywhere.
  while (best && walkers.size() < count)
    walkers.push_back({.at = trials[*best].point, .seconds = trials[*best].seconds, .tried = {}});
  if (const size_t known = std::max(walkers.size(), out.size()); known < count) {
    // The first batch, or a larger one.
    std::vector<Point> fresh;
    propose_random(count - known, fresh);
    for (const Point& p : fresh) {
      walkers.push_back({.at = p, .seconds = INFINITY, .tried = p});
      out.push_back(p);
    }
  }
  for (size_t i = 0; i < walkers.size() && out.size() < count; ++i) {
    Walker& w = walkers[i];
    if (w.tried) continue;
    for (int misses = 0; misses < kFruitless; ++misses) {
      const Point p = space.neighbour(w.at, random);
      if (!take(p)) continue;
      w.tried = p;
      out.push_back(p);
      break;
    }
  }
}

void Search::State::accept_walks(const std::vector<Trial>& reported) {
  // Worse by a fifth is accepted now and then at first, hardly ever after some hundred trials.
  const double temperature = 0.2 / (1 + static_cast<double>(trials.size()) / 100);
  for (const Trial& t : reported)
    for (Walker& w : walkers) {
      if (!w.tried || !(*w.tried == t.point)) continue;
      w.tried.reset();
      const bool better = !std::isfinite(w.seconds) || t.seconds < w.seconds;
      const double worse = better ? 0 : std::log(t.seconds / w.seconds);
      if (std::isfinite(t.seconds) && (better || random.unit() < std::exp(-worse / temperature))) {
        w.at = t.point;
        w.seconds = t.seconds;
      }
    }
}

}  // namespace tilewright::tune
