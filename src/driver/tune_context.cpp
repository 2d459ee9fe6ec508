// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_context.h"

#include <algorithm>
#include <chrono>

#include "driver/check_model.h"
#include "ir/interpret/random.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewest = 6, kMost = 300;  // rounds
constexpr double kTolerance = 1e-4;         // of results, relative to the greatest
// Of the time: for building models and kernels in them, and for the whole model at first and again
// where it is not clear.
constexpr double kForKernels = 0.8, kForWhole = 0.2;
constexpr double kForBuilds = 0.25;  // of all, but there is always one
// A model that runs longer finds nothing in the caches that it left there itself.
constexpr double kCold = 0.05;

/// The same traces for the kernels of the model.
ModelOptions with(const Traces& traces, ModelOptions options) {
  options.schedules = [&traces](const tune::Task& task) -> std::optional<GivenSchedule> {
    const auto found = traces.find(task.workload);
    if (found == traces.end()) return {};
    return GivenSchedule{found->second, "tuned"};
  };
  return options;
}

/// How the outputs of one differ from those of the other; empty when they do not.
std::string different(TimedModel& want, TimedModel& got) {
  want.module().run();
  const std::vector<frontend::NamedTensor> expected = want.module().outputs();
  got.module().run();
  const std::vector<frontend::NamedTensor> results = got.module().outputs();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].value->is_strings) continue;
    const double apart = difference(*expected[i].value, *results[i].value);
    if (!(apart <= kTolerance))
      return str("with it output `", expected[i].name, "` differs by ", apart);
  }
  return {};
}

template <class Round>
void rounds(double seconds, const std::atomic<bool>* stop, Round&& round) {
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < kMost && !(stop && *stop); ++i) {
    const double spent = std::chrono::duration<double>(Clock::now() - start).count();
    if (i >= kFewest && spent > seconds) break;
    round(i);
  }
}

/// Seconds tuned and untuned, of runs that took turns.
struct Turn {
  double tuned, untuned;
};

/// What is left of times when nothing disturbs: the fifth that is shortest.
double quiet(std::vector<double> seconds) {
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 5);
  std::ranges::nth_element(seconds, at);
  return *at;
}

/// The ratio of both times, as quiet as they get, and what 95 % of such turns give, drawn at
/// random.
tune::Estimate ratio_of(const std::vector<Turn>& turns) {
  constexpr size_t kDraws = 200, kTail = kDraws / 40;
  if (turns.empty()) return {1, 1, 1};
  std::vector<double> tuned(turns.size()), untuned(turns.size()), drawn;
  const auto ratio = [&](const std::function<size_t(size_t)>& pick) {
    for (size_t i = 0; i < turns.size(); ++i) {
      tuned[i] = turns[pick(i)].tuned;
      untuned[i] = turns[pick(i)].untuned;
    }
    return quiet(tuned) / quiet(untuned);
  };
  const double whole = ratio([](size_t i) { return i; });
  ir::Random random(1);
  for (size_t d = 0; d < kDraws; ++d) {
    std::vector<size_t> picks(turns.size());
    for (size_t& p : picks) p = random.below(turns.size());
    drawn.push_back(ratio([&](size_t i) { return picks[i]; }));
  }
  std::ranges::sort(drawn);
  return {whole, std::min(whole, drawn[kTail]), std::max(whole, drawn[kDraws - 1 - kTail])};
}

/// Runs as it does again and again: the model that ran in between has read other constants. `warm`
/// where caches keep some.
double run_again(TimedModel& model, bool warm) {
  if (warm) model.run();
  return model.run();
}

/// Measured for twice as long when the interval has both faster and slower in it. Who stops it
/// before the first round has seen nothing that is faster.
tune::Estimate whole_ratio(TimedModel& untuned, TimedModel& tuned, double seconds,
                           const std::atomic<bool>* stop) {
  std::vector<Turn> turns;
  const bool warm = untuned.run() < kCold;
  const auto measured = [&] {
    rounds(seconds, stop, [&](size_t i) {
      // Who goes first changes.
      const double first = run_again(i % 2 == 0 ? untuned : tuned, warm);
      const double second = run_again(i % 2 == 0 ? tuned : untuned, warm);
      turns.push_back(i % 2 == 0 ? Turn{second, first} : Turn{first, second});
    });
    return ratio_of(turns);
  };
  const tune::Estimate first = measured();
  return first.low < 1 && first.high >= 1 ? measured() : first;
}

}  // namespace

void keep_what_helps(ContextResult& result, const Traces& traces,
                     const std::function<tune::Estimate(const Traces&)>& whole) {
  for (const auto& [workload, ratio] : result.kernels)
    if (ratio.median < 1 && traces.contains(workload)) result.kept[workload] = traces.at(workload);
  if (result.kept.empty()) return;
  while (!result.kept.empty()) {
    result.whole = whole(result.kept);
    if (result.whole.median < 1) return;
    const size_t dropped = std::erase_if(
        result.kept, [&](const auto& kept) { return result.kernels.at(kept.first).high >= 1; });
    if (dropped > 0) continue;
    if (result.whole.low < 1) return;  // too little for the whole to tell
    result.problem = "faster alone, but the whole model is slower";
    result.kept.clear();
  }
  result.whole = {1, 1, 1};
  if (result.problem.empty()) result.problem = "faster alone, but the whole model is not";
}

namespace {

/// The n-th candidates of all kernels that have so many.
Traces numbered(const Candidates& candidates, size_t n) {
  Traces out;
  for (const auto& [workload, all] : candidates)
    if (n < all.size()) out[workload] = all[n].trace;
  return out;
}

/// Times of each kernel with a trace and without, by workload: in every other round, and in those
/// between.
struct Halves {
  std::vector<Turn> choosing, deciding;
};
std::map<std::string, Halves> kernel_ratios(TimedModel& untuned, TimedModel& tuned,
                                            const std::vector<ModelTask>& tasks,
                                            const Traces& traces, double seconds,
                                            const std::atomic<bool>* stop) {
  std::map<std::string, Halves> out;
  const bool warm = untuned.run() < kCold;
  const auto observed = [&](TimedModel& m) {
    if (warm) m.run();
    return m.run_observed();
  };
  rounds(seconds, stop, [&](size_t i) {
    // Who goes first changes, and not as the halves do.
    const bool first = i / 2 % 2 == 0;
    std::vector<double> with, without;
    if (first) without = observed(untuned);
    with = observed(tuned);
    if (!first) without = observed(untuned);
    for (const ModelTask& t : tasks) {
      if (!traces.contains(t.task->workload)) continue;
      Turn turn{0, 0};
      for (const size_t k : t.kernels) {
        turn.tuned += with[k];
        turn.untuned += without[k];
      }
      Halves& to = out[t.task->workload];
      (i % 2 == 0 ? to.choosing : to.deciding).push_back(turn);
    }
  });
  return out;
}

}  // namespace

ContextResult in_context(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
                         const std::vector<ModelTask>& tasks, const Candidates& candidates,
                         double seconds) {
  const Clock::time_point start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto stopped = [&] { return options.stop && *options.stop; };
  ContextResult out;
  Traces best;
  std::map<std::string, double> least;  // of the rounds that choose
  size_t builds = 0;
  for (const auto& [workload, all] : candidates) builds = std::max(builds, all.size());
  for (size_t n = 0; n < builds && !stopped(); ++n) {
    const double before = spent();
    const Traces traces = numbered(candidates, n);
    std::map<std::string, Halves> ratios;
    try {
      TimedModel build(model, with(traces, options.model), options.threads, options.inputs);
      if (const std::string problem = different(untuned, build); !problem.empty()) {
        out.problem = problem;
        continue;
      }
      // As many as leave most of the time for rounds; the last build is that of what is kept.
      const double took = spent() - before;
      if (n == 0 && took > 0)
        builds = std::min(builds, 1 + static_cast<size_t>(kForBuilds * seconds / took));
      const auto left = static_cast<double>(builds - n);
      ratios = kernel_ratios(untuned, build, tasks, traces,
                             (kForKernels * seconds - spent() - left * took) / left, options.stop);
    } catch (const Error&) {
      if (n == 0) throw;
      continue;  // the first ones have a result
    }
    for (const auto& [workload, halves] : ratios) {
      const double chosen = ratio_of(halves.choosing).median;
      if (halves.deciding.empty() || (least.contains(workload) && chosen >= least[workload]))
        continue;
      least[workload] = chosen;
      const tune::Estimate ratio = ratio_of(halves.deciding);
      out.kernels[workload] = ratio;
      best.erase(workload);
      if (ratio.high < 1 || candidates.at(workload)[n].sure) best[workload] = traces.at(workload);
    }
  }
  if (best.empty()) return out;
  out.problem.clear();
  keep_what_helps(out, best, [&](const Traces& kept) -> tune::Estimate {
    if (stopped()) return {1, 1, 1};
    TimedModel some(model, with(kept, options.model), options.threads, options.inputs);
    constexpr tune::Estimate kWrong{2, 2, 2};
    if (!different(untuned, some).empty()) return kWrong;
    return whole_ratio(untuned, some, kForWhole * seconds, options.stop);
  });
  return out;
}

}  // namespace tilewright::driver
