// SPDX-License-Identifier: Apache-2.0
// The strategy that learns: annealing over the cost model, and batches that are worth measuring.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/function_ref.h"
#include "tune/search/state.h"

namespace tilewright::tune {
namespace {

// Of the annealing, in binary logarithms of time: at first twice as slow is accepted now and then.
constexpr double kHot = 1.0, kCold = 0.05;
// How much a point is worth none of whose values another point of the batch has, in standard
// deviations of the scores of the pool; and, by the analytic model alone, one none of whose values
// was measured, in binary logarithms of time.
constexpr double kDiversity = 0.5, kNovelty = 0.3;
constexpr size_t kPool = 8;         // for each point of a batch
constexpr double kOptimism = 1;     // standard deviations that trees are apart
constexpr double kAnalytic = 0.25;  // share of a batch that follows the analytic model alone

struct Scored {
  Point point;
  double score = 0;
};

/// How often the values of a point's knobs were tried.
class Tried {
 public:
  explicit Tried(const Space& space) {
    for (const Knob& k : space.knobs()) counts_.emplace_back(k.candidates.size());
  }
  void add(const Point& p) {
    for (size_t k = 0; k < counts_.size(); ++k) ++counts_[k][p.choice[k]];
  }
  /// 1 where no value was, towards 0 the more all of them were.
  double novelty(const Point& p) const {
    double out = 0;
    for (size_t k = 0; k < counts_.size(); ++k) out += 1.0 / (1 + counts_[k][p.choice[k]]);
    return out / static_cast<double>(std::max<size_t>(counts_.size(), 1));
  }

 private:
  std::vector<std::vector<int>> counts_;
};

double deviation(const std::vector<Scored>& pool) {
  double mean = 0, square = 0;
  for (const Scored& s : pool) mean += s.score / static_cast<double>(pool.size());
  for (const Scored& s : pool)
    square += (s.score - mean) * (s.score - mean) / static_cast<double>(pool.size());
  return std::sqrt(square);
}

/// Takes points one by one that are fast by their score and have values that were tried less.
template <class Take>
void pick(std::vector<Scored> pool, size_t count, double worth, Tried tried, Take&& take) {
  for (size_t taken = 0; taken < count && !pool.empty();) {
    const auto best = std::ranges::max_element(
        pool, {}, [&](const Scored& s) { return s.score + worth * tried.novelty(s.point); });
    const Point point = best->point;
    pool.erase(best);
    if (!take(point)) continue;
    ++taken;
    tried.add(point);
  }
}

using Judge = FunctionRef<std::vector<double>(std::span<const Features>)>;

/// Anneals from the points and from the best of those that it came by before, and gives the best of
/// all that were not tried yet, as many as are asked for.
template <class State>
std::vector<Scored> anneal(State& state, std::vector<Point> from, size_t most, Judge judge) {
  std::vector<Scored> chains, pool;
  const auto score = [&](const std::vector<Point>& points, auto&& scored) {
    std::vector<size_t> known;
    std::vector<Features> rows;
    state.prepare(points);
    for (size_t i = 0; i < points.size(); ++i)
      if (const auto& f = state.features_of(points[i])) {
        known.push_back(i);
        rows.push_back(*f);
      }
    const std::vector<double> scores = judge(rows);
    for (size_t j = 0; j < known.size(); ++j) scored(known[j], scores[j]);
  };
  const auto best_first = [&] {
    std::unordered_set<Point, PointHash> once;
    std::erase_if(pool, [&](const Scored& s) {
      return state.seen.contains(s.point) || !once.insert(s.point).second;
    });
    std::ranges::stable_sort(pool, std::greater(), &Scored::score);
    if (pool.size() > most) pool.resize(most);
  };
  const std::vector<Point> before = state.scheduled;
  score(before, [&](size_t i, double s) { pool.push_back({before[i], s}); });
  best_first();
  const size_t again = std::min(from.size() / 2, pool.size());
  for (size_t i = 0; i < again; ++i) from.push_back(pool[i].point);
  score(from, [&](size_t i, double s) { chains.push_back({from[i], s}); });
  pool.insert(pool.end(), chains.begin(), chains.end());
  for (int step = 0; step < state.options.steps; ++step) {
    const double temperature =
        kHot * std::pow(kCold / kHot, static_cast<double>(step) / state.options.steps);
    std::vector<Point> points;
    for (const Scored& c : chains) points.push_back(state.space.neighbour(c.point, state.random));
    score(points, [&](size_t i, double s) {
      pool.push_back({points[i], s});
      if (s >= chains[i].score ||
          state.random.unit() < std::exp((s - chains[i].score) / temperature))
        chains[i] = {points[i], s};
    });
  }
  best_first();
  return pool;
}

}  // namespace

void Search::State::propose_learned(size_t count, std::vector<Point>& out) {
  if (options.cold && trials.empty()) return propose_random(count, out);
  const auto share = [&](double of) {
    return static_cast<size_t>(std::lround(of * static_cast<double>(count)));
  };
  const size_t by_analytic = share(kAnalytic);
  const size_t chosen = count - std::min(share(options.explore), count);

  // Chains start from the best points that are known and from random ones.
  std::vector<size_t> order(trials.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return trials[i].seconds; });
  const auto starts = [&](size_t wanted) {
    std::vector<Point> from;
    for (size_t i = 0; i < order.size() && from.size() < wanted / 2; ++i)
      if (std::isfinite(trials[order[i]].seconds) && space.legal(trials[order[i]].point))
        from.push_back(trials[order[i]].point);
    for (size_t tries = 0; from.size() < wanted && tries < 4 * wanted; ++tries)
      if (const auto p = space.random(random); p && features_of(*p)) from.push_back(*p);
    return from;
  };
  const auto chains = static_cast<size_t>(options.chains) * 2 / 3;  // and half as many again
  const auto add = [&](const Point& p) {
    if (!take(p)) return false;
    out.push_back(p);
    return true;
  };
  const auto learned = [&](std::span<const Features> rows) {
    std::vector<double> scores;
    for (const CostModel::Guess& g : guide.model->guesses(rows))
      scores.push_back(g.score + kOptimism * g.doubt);
    return scores;
  };
  const size_t by_trees = chosen - std::min(chosen, out.size() + by_analytic);
  if (by_trees > 0) {
    std::vector<Scored> pool = anneal(*this, starts(chains), kPool * count, learned);
    const double worth = kDiversity * deviation(pool);
    pick(std::move(pool), by_trees, worth, Tried(space), add);
  }

  // Trees that have seen one kind of points praise it: the analytic model knows others.
  const auto analytic = [](std::span<const Features> rows) {
    std::vector<double> scores;
    for (const Features& f : rows) scores.push_back(-static_cast<double>(f[0]));
    return scores;
  };
  Tried tried(space);
  for (const Trial& t : trials)
    if (space.legal(t.point)) tried.add(t.point);
  for (const Point& p : out) tried.add(p);
  if (out.size() < chosen)
    pick(anneal(*this, starts(chains / 2), kPool * count, analytic), chosen - out.size(), kNovelty,
         std::move(tried), add);
  propose_random(count, out);
}

void Search::State::propose_all(size_t count, std::vector<Point>& out) {
  std::vector<Scored> all;
  for (auto p = space.first(); p; p = space.next(*p))
    if (!seen.contains(*p)) all.push_back({*p, 0});
  if (options.strategy == Strategy::Learned) {
    std::vector<Point> points;
    for (const Scored& s : all) points.push_back(s.point);
    prepare(points);
    for (Scored& s : all)
      if (const auto& f = features_of(s.point)) s.score = guide.model->score(*f);
  }
  std::ranges::stable_sort(all, std::greater(), &Scored::score);
  for (const Scored& s : all) {
    if (out.size() == count) return;
    if (take(s.point)) out.push_back(s.point);
  }
  exhausted = out.size() < count ||
              std::ranges::all_of(all, [&](const Scored& s) { return seen.contains(s.point); });
}

}  // namespace tilewright::tune
