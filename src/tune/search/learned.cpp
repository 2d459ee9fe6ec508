// SPDX-License-Identifier: Apache-2.0
// The strategy that learns: annealing over the cost model, and batches that are worth measuring.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tune/search/state.h"

namespace tilewright::tune {
namespace {

// Of the annealing, in binary logarithms of time: at first twice as slow is accepted now and then.
constexpr double kHot = 1.0, kCold = 0.05;
// How much a value that no other point of the batch has is worth, in standard deviations of the
// scores of the pool, when all knobs have one.
constexpr double kDiversity = 0.5;
constexpr size_t kPool = 8;  // for each point of a batch

struct Scored {
  Point point;
  double score = 0;
};

/// Takes points one by one that are fast by the model and bring values that the batch has not yet.
template <class Take>
void pick_batch(std::vector<Scored> pool, size_t count, const Space& space, Take&& take) {
  double mean = 0, square = 0;
  for (const Scored& s : pool) mean += s.score / static_cast<double>(pool.size());
  for (const Scored& s : pool)
    square += (s.score - mean) * (s.score - mean) / static_cast<double>(pool.size());
  const double worth = kDiversity * std::sqrt(square) /
                       static_cast<double>(std::max<size_t>(space.knobs().size(), 1));
  std::vector<std::vector<bool>> covered;
  for (const Knob& k : space.knobs()) covered.emplace_back(k.candidates.size());
  for (size_t taken = 0; taken < count && !pool.empty();) {
    const auto value = [&](const Scored& s) {
      size_t fresh = 0;
      for (size_t k = 0; k < covered.size(); ++k) fresh += !covered[k][s.point.choice[k]];
      return s.score + worth * static_cast<double>(fresh);
    };
    const auto best = std::ranges::max_element(pool, {}, value);
    const Point point = best->point;
    pool.erase(best);
    if (!take(point)) continue;
    ++taken;
    for (size_t k = 0; k < covered.size(); ++k) covered[k][point.choice[k]] = true;
  }
}

}  // namespace

void Search::State::propose_learned(size_t count, std::vector<Point>& out) {
  const auto explored =
      static_cast<size_t>(std::lround(options.explore * static_cast<double>(count)));
  if (options.cold && trials.empty()) return propose_random(count, out);

  // Chains start from the best points that are known and from random ones.
  std::vector<size_t> order(trials.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return trials[i].seconds; });
  std::vector<Scored> chains;
  const auto add = [&](const Point& p) {
    if (const auto& f = features_of(p)) chains.push_back({p, guide.model->score(*f)});
  };
  const auto wanted = static_cast<size_t>(options.chains);
  for (size_t i = 0; i < order.size() && chains.size() < wanted / 2; ++i)
    if (std::isfinite(trials[order[i]].seconds) && space.legal(trials[order[i]].point))
      add(trials[order[i]].point);
  for (int tries = 0; chains.size() < wanted && tries < 4 * options.chains; ++tries)
    if (const auto p = space.random(random)) add(*p);

  std::vector<Scored> pool = chains;
  for (int step = 0; step < options.steps; ++step) {
    const double temperature =
        kHot * std::pow(kCold / kHot, static_cast<double>(step) / options.steps);
    std::vector<size_t> moved;
    std::vector<Point> points;
    std::vector<Features> rows;
    for (size_t i = 0; i < chains.size(); ++i) {
      const Point p = space.neighbour(chains[i].point, random);
      const auto& f = features_of(p);
      if (!f) continue;
      moved.push_back(i);
      points.push_back(p);
      rows.push_back(*f);
    }
    const std::vector<double> scores = guide.model->scores(rows);
    for (size_t j = 0; j < moved.size(); ++j) {
      Scored& chain = chains[moved[j]];
      pool.push_back({points[j], scores[j]});
      if (scores[j] >= chain.score ||
          random.unit() < std::exp((scores[j] - chain.score) / temperature))
        chain = {points[j], scores[j]};
    }
  }
  std::ranges::stable_sort(pool, std::greater(), &Scored::score);
  std::unordered_set<Point, PointHash> once;
  std::erase_if(pool, [&](const Scored& s) {
    return seen.contains(s.point) || !once.insert(s.point).second;
  });
  if (pool.size() > kPool * count) pool.resize(kPool * count);
  const size_t chosen = count - std::min(explored, count);
  if (out.size() < chosen)
    pick_batch(std::move(pool), chosen - out.size(), space, [&](const Point& p) {
      if (!take(p)) return false;
      out.push_back(p);
      return true;
    });
  propose_random(count, out);
}

void Search::State::propose_all(size_t count, std::vector<Point>& out) {
  std::vector<Scored> all;
  for (auto p = space.first(); p; p = space.next(*p))
    if (!seen.contains(*p)) all.push_back({*p, 0});
  if (options.strategy == Strategy::Learned)
    for (Scored& s : all)
      if (const auto& f = features_of(s.point)) s.score = guide.model->score(*f);
  std::ranges::stable_sort(all, std::greater(), &Scored::score);
  for (const Scored& s : all) {
    if (out.size() == count) return;
    if (take(s.point)) out.push_back(s.point);
  }
  exhausted = out.size() < count ||
              std::ranges::all_of(all, [&](const Scored& s) { return seen.contains(s.point); });
}

}  // namespace tilewright::tune
