// SPDX-License-Identifier: Apache-2.0
#include "tune/search/search.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "schedule/trace.h"
#include "support/in_parallel.h"
#include "support/str.h"
#include "tune/search/state.h"

namespace tilewright::tune {

constexpr std::string_view kStrategies[] = {"learned", "annealing", "random", "grid"};

std::string_view name(Strategy strategy) { return kStrategies[static_cast<size_t>(strategy)]; }

Strategy strategy_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kStrategies); ++i)
    if (kStrategies[i] == name) return static_cast<Strategy>(i);
  throw Error({.code = "tune.search.strategy",
               .at = {},
               .message = str("there is no search strategy `", name, "`"),
               .notes = {},
               .help = "use one of learned, annealing, random, grid"});
}

Search::Search(const Space& space, SearchOptions options, Guide guide)
    : state_(std::make_unique<State>(space, std::move(options), std::move(guide))) {
  require(
      state_->options.strategy != Strategy::Learned || (state_->guide.model && state_->guide.spec),
      "a learned search without a model and a machine");
  state_->exhausted = space.size().points == 0;
}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;

bool Search::State::take(const Point& point) {
  if (!seen.insert(point).second) return false;
  const Applied& known = at(point);
  return !known.refused && traces.insert(known.text).second;
}

const Search::State::Applied& Search::State::at(const Point& point) {
  if (!applied.contains(point)) prepare({point});
  return applied.at(point);
}

void Search::State::prepare(const std::vector<Point>& points) {
  std::vector<std::pair<const Point, Applied>*> fresh;
  for (const Point& p : points)
    if (const auto [it, is_new] = applied.try_emplace(p); is_new) fresh.push_back(&*it);
  std::vector<std::string> refusals(fresh.size());
  in_parallel(fresh.size(), options.threads, [&](size_t i) {
    auto& [point, known] = *fresh[i];
    try {
      const schedule::Schedule s = space.apply(point);
      if (options.strategy == Strategy::Learned)
        known.features = tune::features_of(s.func(), *guide.spec, guide.constants);
      known.text = std::hash<std::string>()(schedule::print(s.trace()));
      known.trace = s.trace();
    } catch (const Error& e) {
      known.refused = true;
      refusals[i] = e.what();
    }
  });
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (!fresh[i]->second.refused) {
      scheduled.push_back(fresh[i]->first);
      continue;
    }
    seen.insert(fresh[i]->first);
    ++refused;
    refusal = refusals[i];
  }
}

std::vector<Point> Search::propose(size_t count) {
  std::vector<Point> out = state_->next(count);
  for (auto& [point, applied] : state_->applied)
    if (!state_->seen.contains(point)) applied.trace.reset();
  return out;
}

void Search::State::propose_start(size_t count, std::vector<Point>& out) {
  std::vector<Point> open;
  size_t tried = 0;  // also in an earlier run
  for (const Point& p : options.start) {
    if (!space.legal(p)) continue;
    if (!seen.contains(p))
      open.push_back(p);
    else
      tried += !at(p).refused;
  }
  if (tried >= options.start_trials) return;
  if (options.strategy == Strategy::Learned && guide.model->has_learnt()) {
    prepare(open);
    std::erase_if(open, [&](const Point& p) { return at(p).refused; });
    std::ranges::stable_sort(open, std::greater(),
                             [&](const Point& p) { return guide.model->score(*features_of(p)); });
  } else {
    prepare(
        {open.begin(), open.begin() + static_cast<std::ptrdiff_t>(std::min(count, open.size()))});
  }
  for (const Point& p : open)
    if (out.size() < count && tried < options.start_trials && take(p)) {
      out.push_back(p);
      ++tried;
    }
}

std::vector<Point> Search::State::next(size_t count) {
  std::vector<Point> out;
  std::erase_if(suggested, [&](const Point& p) { return seen.contains(p) || !space.legal(p); });
  prepare(suggested);
  for (const Point& p : suggested | std::views::reverse)
    if (out.size() < count && take(p)) out.push_back(p);
  if (out.size() < count) propose_start(count, out);
  const bool small =
      space.size().exact && space.size().points <= static_cast<double>(options.small);
  if (!why_done().empty()) return out;
  if (small) {
    propose_all(count, out);
  } else {
    switch (options.strategy) {
      case Strategy::Random: propose_random(count, out); break;
      case Strategy::Grid: propose_next(count, out); break;
      case Strategy::Annealing: propose_walks(count, out); break;
      case Strategy::Learned: propose_learned(count, out); break;
    }
  }
  if (out.size() < count && !small && options.strategy != Strategy::Grid)
    propose_next(count, out);  // what chance does not find any more
  return out;
}

void Search::suggest(const Point& point) { state_->suggested.push_back(point); }

void Search::report(const std::vector<Trial>& trials) {
  State& s = *state_;
  std::vector<Sample> samples;
  for (const Trial& t : trials) {
    if (s.space.legal(t.point)) s.take(t.point);  // one of a record was not proposed here
    s.trials.push_back(t);
    if (std::isfinite(t.seconds) && (!s.best || t.seconds < s.trials[*s.best].seconds)) {
      if (!s.best || t.seconds < s.trials[*s.best].seconds * (1 - s.options.gain))
        s.last_gain = s.trials.size();
      s.best = s.trials.size() - 1;
    }
    if (s.options.strategy == Strategy::Learned && s.space.legal(t.point))
      if (const auto& features = s.features_of(t.point))
        samples.push_back({.features = *features, .seconds = t.seconds, .task = s.guide.task});
  }
  if (s.options.strategy == Strategy::Annealing) s.accept_walks(trials);
  if (!samples.empty()) s.guide.model->learn(samples);
}

bool Search::done() const { return !why_done().empty(); }
std::string Search::why_done() const { return state_->why_done(); }

std::string Search::State::why_done() const {
  if (space.size().points == 0) return str("the space is empty: ", space.why_empty());
  if (exhausted) return "every point has been tried";
  if (options.patience > 0 && best && trials.size() - last_gain >= options.patience)
    return str("no gain in the last ", options.patience, " trials");
  return "";
}

schedule::Trace Search::trace(const Point& point) const {
  const auto& trace = state_->at(point).trace;
  return trace ? *trace : state_->space.apply(point).trace();
}

double Search::score(const Point& point) const {
  const auto& features = state_->features_of(point);
  return features ? state_->guide.model->score(*features) : 0;
}

const Trial* Search::best() const {
  return state_->best ? &state_->trials[*state_->best] : nullptr;
}
const std::vector<Trial>& Search::trials() const { return state_->trials; }
size_t Search::refused() const { return state_->refused; }
const std::string& Search::refusal() const { return state_->refusal; }

}  // namespace tilewright::tune
