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
// How much a point is worth that is like none that was measured: by the trees in standard
// deviations of the scores that they give to those, by the analytic model in binary logarithms of
// time.
constexpr double kNovel = 2.0, kNovelByAnalytic = 0.3;
constexpr size_t kPool = 512;       // points that a batch is picked from
constexpr double kOptimism = 1;     // standard deviations that trees are apart
constexpr double kAnalytic = 0.25;  // share of a batch that follows the analytic model alone

struct Scored {
  Point point;
  double score = 0;
};

/// What a point is told from others by: the leaves of the trees that it falls into, or the values
/// of its knobs while there are no trees.
using Marks = std::vector<float>;

/// The share of their marks that is the same.
double alike(const Marks& a, const Marks& b) {
  size_t same = 0;
  for (size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  return a.empty() ? 0 : static_cast<double>(same) / static_cast<double>(a.size());
}

/// 1 where it shares no mark with any of them, 0 where all with one.
double novelty(const Marks& marks, const std::vector<Marks>& known) {
  double most = 0;
  for (const Marks& k : known) most = std::max(most, alike(k, marks));
  return 1 - most;
}

/// The points must have features.
template <class State>
std::vector<Marks> marks_of(State& state, const std::vector<Point>& points) {
  std::vector<Features> rows;
  for (const Point& p : points) rows.push_back(*state.features_of(p));
  std::vector<Marks> out = state.guide.model->leaves(rows);
  for (size_t i = 0; i < points.size(); ++i)
    if (out[i].empty()) out[i].assign(points[i].choice.begin(), points[i].choice.end());
  return out;
}

double deviation(const std::vector<double>& scores) {
  const auto n = static_cast<double>(scores.size());
  double mean = 0, square = 0;
  for (const double s : scores) mean += s / n;
  for (const double s : scores) square += (s - mean) * (s - mean) / n;
  return std::sqrt(square);
}

/// Takes points one by one that are fast by their score and unlike those that were measured or
/// taken.
template <class State, class Take>
void pick(State& state, const std::vector<Scored>& pool, size_t count, double worth,
          std::vector<Marks>& measured, Take&& take) {
  std::vector<Point> points;
  for (const Scored& s : pool) points.push_back(s.point);
  const std::vector<Marks> marks = marks_of(state, points);
  struct Left {
    size_t at;
    double novelty;
  };
  std::vector<Left> left;
  for (size_t i = 0; i < pool.size(); ++i) left.push_back({i, novelty(marks[i], measured)});
  for (size_t taken = 0; taken < count && !left.empty();) {
    const auto best = std::ranges::max_element(
        left, {}, [&](const Left& l) { return pool[l.at].score + worth * l.novelty; });
    const size_t at = best->at;
    left.erase(best);
    if (!take(pool[at].point)) continue;
    ++taken;
    measured.push_back(marks[at]);
    for (Left& l : left) l.novelty = std::min(l.novelty, 1 - alike(marks[at], marks[l.at]));
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
  std::vector<Point> known;
  std::vector<double> known_scores;
  for (const Trial& t : trials)
    if (space.legal(t.point))
      if (const auto& f = features_of(t.point)) {
        known.push_back(t.point);
        known_scores.push_back(guide.model->score(*f));
      }
  known.insert(known.end(), out.begin(), out.end());
  std::vector<Marks> measured = marks_of(*this, known);

  const size_t by_trees = chosen - std::min(chosen, out.size() + by_analytic);
  if (by_trees > 0) {
    const std::vector<Scored> pool = anneal(*this, starts(chains), kPool, learned);
    if (known_scores.empty())
      for (const Scored& s : pool) known_scores.push_back(s.score);
    pick(*this, pool, by_trees, kNovel * deviation(known_scores), measured, add);
  }

  // Trees that have seen one kind of points praise it: the analytic model knows others.
  const auto analytic = [](std::span<const Features> rows) {
    std::vector<double> scores;
    for (const Features& f : rows) scores.push_back(-static_cast<double>(f[0]));
    return scores;
  };
  if (out.size() < chosen)
    pick(*this, anneal(*this, starts(chains / 2), kPool, analytic), chosen - out.size(),
         kNovelByAnalytic, measured, add);
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
