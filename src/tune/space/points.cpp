// SPDX-License-Identifier: Apache-2.0
// The legal points of a space: counting, sampling and walking among them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tune/space/space.h"

namespace tilewright::tune {
namespace {

// Combinations of connected knobs that are counted one by one; above it a sample is taken.
constexpr double kCounted = 200'000;
constexpr int kSamples = 256;
// Combinations that are tried before a group of knobs counts as impossible.
constexpr int64_t kTried = 500'000;

std::vector<uint32_t> shuffled(size_t n, ir::Random& random) {
  std::vector<uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0u);
  for (size_t i = n; i > 1; --i) std::swap(out[i - 1], out[random.below(i)]);
  return out;
}

}  // namespace

bool Space::fits(const Constraint& constraint, const std::vector<uint32_t>& choice) const {
  Values values;
  values.reserve(constraint.knobs.size());
  for (const size_t k : constraint.knobs) values.push_back(&knobs_[k].candidates[choice[k]]);
  return constraint.holds(values);
}

bool Space::legal(const Point& point) const {
  if (point.choice.size() != knobs_.size() || !why_empty_.empty()) return false;
  for (size_t k = 0; k < knobs_.size(); ++k)
    if (point.choice[k] >= knobs_[k].candidates.size()) return false;
  return std::ranges::all_of(constraints_,
                             [&](const Constraint& c) { return fits(c, point.choice); });
}

void Space::find_groups() {
  std::vector<size_t> group(knobs_.size());
  std::iota(group.begin(), group.end(), size_t{0});
  for (const Constraint& c : constraints_)
    for (const size_t k : c.knobs) {
      const size_t from = group[k], to = group[c.knobs[0]];
      std::ranges::replace(group, from, to);
    }
  for (size_t g = 0; g < knobs_.size(); ++g) {
    std::vector<size_t> members;
    for (size_t k = 0; k < knobs_.size(); ++k)
      if (group[k] == g) members.push_back(k);
    if (!members.empty()) groups_.push_back(std::move(members));
  }
}

/// Does the value of `knobs[at]` fit those before it? The later ones stand at their first.
bool Space::fits_so_far(const std::vector<size_t>& knobs, size_t at,
                        const std::vector<uint32_t>& choice) const {
  const auto end = knobs.begin() + static_cast<long>(at) + 1;
  return std::ranges::all_of(of_knob_[knobs[at]], [&](size_t c) {
    const Constraint& constraint = constraints_[c];
    const bool decided =
        constraint.monotone || std::ranges::all_of(constraint.knobs, [&](size_t k) {
          return std::find(knobs.begin(), end, k) != end;
        });
    return !decided || fits(constraint, choice);
  });
}

/// Runs through the values of `knobs`, in their order, from the first combination on or, `after`
/// one, from the next; stops at the first that keeps all constraints among them.
bool Space::advance(const std::vector<size_t>& knobs, size_t at, bool after,
                    std::vector<uint32_t>& choice) const {
  if (at == knobs.size()) return !after;
  const size_t k = knobs[at];
  const uint32_t from = after ? choice[k] : 0;
  for (uint32_t v = from; v < knobs_[k].candidates.size(); ++v) {
    std::vector<uint32_t> next = choice;
    next[k] = v;
    const bool same = after && v == from;
    for (size_t later = at + 1; !same && later < knobs.size(); ++later) next[knobs[later]] = 0;
    // What comes after a point may have a beginning that does not look possible with first values.
    if (!same && !fits_so_far(knobs, at, next)) continue;
    if (advance(knobs, at + 1, same, next)) {
      choice = std::move(next);
      return true;
    }
  }
  return false;
}

std::optional<Point> Space::first() const {
  if (!why_empty_.empty()) return std::nullopt;
  std::vector<size_t> all(knobs_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  Point p{std::vector<uint32_t>(knobs_.size())};
  if (!advance(all, 0, false, p.choice)) return std::nullopt;
  return p;
}

std::optional<Point> Space::next(const Point& point) const {
  std::vector<size_t> all(knobs_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  Point p = point;
  if (!advance(all, 0, true, p.choice)) return std::nullopt;
  return p;
}

SpaceSize Space::count() const {
  SpaceSize out{.points = 1, .exact = true};
  ir::Random random(1);
  for (const std::vector<size_t>& group : groups_) {
    double all = 1;
    for (const size_t k : group) all *= static_cast<double>(knobs_[k].candidates.size());
    if (group.size() == 1 && of_knob_[group[0]].empty()) {
      out.points *= all;
      continue;
    }
    std::vector<uint32_t> choice(knobs_.size());
    if (all <= kCounted) {
      double n = 0;
      for (bool more = advance(group, 0, false, choice); more;
           more = advance(group, 0, true, choice))
        ++n;
      out.points *= n;
      continue;
    }
    // Random ways down the tree of values: the product of the branches that stood open is, on
    // average, the number of leaves.
    double sum = 0;
    for (int i = 0; i < kSamples; ++i) {
      double leaves = 1;
      for (const size_t k : group) choice[k] = 0;
      for (size_t at = 0; at < group.size() && leaves > 0; ++at) {
        std::vector<uint32_t> open;
        for (uint32_t& v = choice[group[at]]; v < knobs_[group[at]].candidates.size(); ++v)
          if (fits_so_far(group, at, choice)) open.push_back(v);
        leaves *= static_cast<double>(open.size());
        choice[group[at]] = open.empty() ? 0 : open[random.below(open.size())];
      }
      sum += leaves;
    }
    out.exact = false;
    if (sum == 0 && complete(group, {}, choice, random)) sum = kSamples;
    out.points *= sum / kSamples;
  }
  return out;
}

/// Gives the knobs of a group values that fit, those of `wanted` first where it is not empty.
bool Space::complete(const std::vector<size_t>& group, const std::vector<uint32_t>& wanted,
                     std::vector<uint32_t>& choice, ir::Random& random) const {
  int64_t left = kTried;
  for (const size_t k : group) choice[k] = 0;
  const auto set = [&](size_t at, const auto& self) -> bool {
    if (at == group.size()) return true;
    const size_t k = group[at];
    std::vector<uint32_t> tried = shuffled(knobs_[k].candidates.size(), random);
    if (!wanted.empty()) std::swap(*std::ranges::find(tried, wanted[k]), tried.front());
    for (const uint32_t v : tried) {
      if (--left < 0) return false;
      choice[k] = v;
      if (fits_so_far(group, at, choice) && self(at + 1, self)) return true;
    }
    choice[k] = 0;
    return false;
  };
  return set(0, set);
}

std::optional<Point> Space::random(ir::Random& random) const {
  if (!why_empty_.empty()) return std::nullopt;
  Point p{std::vector<uint32_t>(knobs_.size())};
  for (const std::vector<size_t>& group : groups_)
    if (!complete(group, {}, p.choice, random)) return std::nullopt;
  return p;
}

bool Space::group_fits(const std::vector<size_t>& group,
                       const std::vector<uint32_t>& choice) const {
  return std::ranges::all_of(group, [&](size_t k) {
    return std::ranges::all_of(of_knob_[k],
                               [&](size_t c) { return fits(constraints_[c], choice); });
  });
}

std::optional<Point> Space::repaired(const Point& point, ir::Random& random) const {
  if (!why_empty_.empty() || point.choice.size() != knobs_.size()) return std::nullopt;
  Point p = point;
  for (size_t k = 0; k < knobs_.size(); ++k)
    p.choice[k] = std::min(p.choice[k], static_cast<uint32_t>(knobs_[k].candidates.size() - 1));
  for (const std::vector<size_t>& group : groups_)
    if (!group_fits(group, p.choice) && !complete(group, Point(p).choice, p.choice, random))
      return std::nullopt;
  return p;
}

/// The candidate that is innermost as large as wanted, or nearly so, and else most like the other.
static uint32_t with_innermost(const Knob& knob, int64_t wanted, const Value& like) {
  const auto apart = [](int64_t a, int64_t b) {
    return std::abs(std::log2(static_cast<double>(a + 1) / static_cast<double>(b + 1)));
  };
  constexpr double kInnermost = 100;
  const auto far = [&](const Value& v) {
    double sum = kInnermost * apart(v.back(), wanted);
    for (size_t i = 0; i + 1 < std::min(v.size(), like.size()); ++i) sum += apart(v[i], like[i]);
    return sum;
  };
  return static_cast<uint32_t>(std::ranges::min_element(knob.candidates, {}, far) -
                               knob.candidates.begin());
}

Point Space::exchanged(const Point& point, ir::Random& random) const {
  std::vector<size_t> splits;
  for (size_t k = 0; k < knobs_.size(); ++k)
    if (knobs_[k].kind == KnobKind::Split && knobs_[k].candidates.size() > 1) splits.push_back(k);
  if (splits.size() < 2) return point;
  const size_t a = splits[random.below(splits.size())], b = splits[random.below(splits.size())];
  const Value& of_a = knobs_[a].candidates[point.choice[a]];
  const Value& of_b = knobs_[b].candidates[point.choice[b]];
  Point out = point;
  out.choice[a] = with_innermost(knobs_[a], of_b.back(), of_a);
  out.choice[b] = with_innermost(knobs_[b], of_a.back(), of_b);
  return legal(out) ? out : point;
}

Point Space::neighbour(const Point& point, ir::Random& random) const {
  constexpr int kTries = 24;
  constexpr size_t kOther = 8;  // steps for one that exchanges
  for (int i = 0; i < kTries && !knobs_.empty(); ++i) {
    if (random.below(kOther) == 0)
      if (Point p = exchanged(point, random); p != point) return p;
    const size_t k = random.below(knobs_.size());
    const Knob& knob = knobs_[k];
    const size_t count = knob.candidates.size();
    if (count < 2) continue;
    Point p = point;
    const bool near = (knob.kind == KnobKind::Split || knob.kind == KnobKind::Number) &&
                      count > 4 && random.below(2) == 0;
    if (near) {
      const auto step =
          static_cast<int64_t>(random.below(2) == 0 ? 1 : 2) * (random.below(2) == 0 ? 1 : -1);
      const auto to = static_cast<int64_t>(p.choice[k]) + step;
      if (to < 0 || to >= static_cast<int64_t>(count)) continue;
      p.choice[k] = static_cast<uint32_t>(to);
    } else {
      const auto other = static_cast<uint32_t>(random.below(count - 1));
      p.choice[k] = other + (other >= p.choice[k] ? 1 : 0);
    }
    if (std::ranges::all_of(of_knob_[k], [&](size_t c) { return fits(constraints_[c], p.choice); }))
      return p;
    // Later tries let the others give way.
    if (i < kTries / 2) continue;
    if (const auto fixed = repaired(p, random); fixed && *fixed != point) return *fixed;
  }
  return point;
}

}  // namespace tilewright::tune
