// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_context.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "driver/check_model.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;
using tune::quiet_ratio;
using tune::Turn;

constexpr size_t kFewest = 6, kMost = 300;  // rounds
constexpr double kTolerance = 1e-4;         // of results, relative to the greatest
// Of the time: for building models and kernels in them, and for each part of the whole model's
// comparison, of which there are as many as it takes to be clear.
constexpr double kForKernels = 0.8, kForPart = 0.15;
constexpr size_t kParts = 3;
constexpr double kForBuilds = 0.25;  // of all, but there is always one
constexpr double kCheap = 0.03;      // a build that takes less
// A model that runs longer finds nothing in the caches that it left there itself.
constexpr double kCold = 0.05;
// Runs in a row, about: what the other one has left in the caches is gone by then.
constexpr double kRow = 0.003;

/// The same traces for the kernels of the model.
ModelOptions with(const Traces& traces, ModelOptions options) {
  options.schedules = [&traces](const tune::Task& task) -> std::optional<GivenSchedule> {
    const auto found = traces.find(task.workload);
    if (found == traces.end()) return {};
    return GivenSchedule{found->second, "tuned"};
  };
  return options;
}

/// Builds of a model. Equal ones differ by where their data lies in memory, the smaller the model
/// the more (4 % where all of it fits the second cache): where that is cheap, whole models are
/// built anew for each part of their comparison.
class Builds {
 public:
  Builds(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
         double cheap_seconds)
      : model_(model), options_(options), untuned_(untuned), cheap_seconds_(cheap_seconds) {}

  bool cheap() const { return least_seconds_ < cheap_seconds_; }
  void tuned(std::optional<TimedModel>& to, const Traces& traces) {
    build(to, with(traces, options_.model));
  }
  TimedModel& untuned() {
    if (!cheap()) return untuned_;
    build(elsewhere_, options_.model);
    return *elsewhere_;
  }

 private:
  void build(std::optional<TimedModel>& to, const ModelOptions& options) {
    const Clock::time_point start = Clock::now();
    to.emplace(model_, options, options_.threads, options_.inputs);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    least_seconds_ = std::min(least_seconds_, took);
  }

  const graph::Graph& model_;
  const TuneOptions& options_;
  TimedModel& untuned_;
  std::optional<TimedModel> elsewhere_;
  const double cheap_seconds_;
  double least_seconds_ = INFINITY;
};

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

/// How two models are run in turn, each as it does again and again: several times in a row where
/// one run is short, and once before that where caches keep some of it.
struct Row {
  int runs = 1;
  bool warm = false;
};
Row row_of(TimedModel& model) {
  const double seconds = std::min(model.run(), model.run());
  return {.runs = static_cast<int>(std::clamp(kRow / std::max(seconds, 1e-6), 1.0, 200.0)),
          .warm = seconds < kCold};
}

/// The median of its runs.
double seconds_of(TimedModel& model, const Row& row) {
  if (row.warm) model.run();
  std::vector<double> all;
  for (int i = 0; i < row.runs; ++i) all.push_back(model.run());
  return tune::estimate(std::move(all)).median;
}

/// The same of each kernel.
std::vector<double> observed(TimedModel& model, const Row& row) {
  if (row.warm) model.run();
  std::vector<std::vector<double>> all(model.kernels().size());
  for (int i = 0; i < row.runs; ++i) {
    const std::vector<double> one = model.run_observed();
    for (size_t k = 0; k < one.size(); ++k) all[k].push_back(one[k]);
  }
  std::vector<double> out;
  for (std::vector<double>& times : all) out.push_back(tune::estimate(std::move(times)).median);
  return out;
}

/// Adds rounds of both to `turns`.
void run_in_turn(TimedModel& untuned, TimedModel& tuned, double seconds,
                 const std::atomic<bool>* stop, std::vector<Turn>& turns) {
  const Row row = row_of(untuned);
  rounds(seconds, stop, [&](size_t i) {
    // Who goes first changes.
    const double first = seconds_of(i % 2 == 0 ? untuned : tuned, row);
    const double second = seconds_of(i % 2 == 0 ? tuned : untuned, row);
    turns.push_back(i % 2 == 0 ? Turn{second, first} : Turn{first, second});
  });
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
  const Row row = row_of(untuned);
  rounds(seconds, stop, [&](size_t i) {
    // Who goes first changes, and not as the halves do.
    const bool first = i / 2 % 2 == 0;
    std::vector<double> with, without;
    if (first) without = observed(untuned, row);
    with = observed(tuned, row);
    if (!first) without = observed(untuned, row);
    for (const ModelTask& t : tasks) {
      if (!traces.contains(t.task->workload)) continue;
      Turn turn{0, 0};
      for (const size_t k : t.kernels) {
        turn.mine += with[k];
        turn.its += without[k];
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
  Builds builds(model, options, untuned, kCheap * seconds);
  const Clock::time_point start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto stopped = [&] { return options.stop && *options.stop; };
  ContextResult out;
  Traces best;
  std::map<std::string, double> least;  // of the rounds that choose
  size_t count = 0;
  for (const auto& [workload, all] : candidates) count = std::max(count, all.size());
  for (size_t n = 0; n < count && !stopped(); ++n) {
    const double before = spent();
    const Traces traces = numbered(candidates, n);
    std::map<std::string, Halves> ratios;
    try {
      std::optional<TimedModel> tuned;
      builds.tuned(tuned, traces);
      if (const std::string problem = different(untuned, *tuned); !problem.empty()) {
        out.problem = problem;
        continue;
      }
      // As many as leave most of the time for rounds; the last build is that of what is kept.
      const double took = spent() - before;
      if (n == 0 && took > 0)
        count = std::min(count, 1 + static_cast<size_t>(kForBuilds * seconds / took));
      const auto left = static_cast<double>(count - n);
      ratios = kernel_ratios(untuned, *tuned, tasks, traces,
                             (kForKernels * seconds - spent() - left * took) / left, options.stop);
    } catch (const Error&) {
      if (n == 0) throw;
      continue;  // the first ones have a result
    }
    for (const auto& [workload, halves] : ratios) {
      const double chosen = quiet_ratio(halves.choosing).median;
      if (halves.deciding.empty() || (least.contains(workload) && chosen >= least[workload]))
        continue;
      least[workload] = chosen;
      const tune::Estimate ratio = quiet_ratio(halves.deciding);
      out.kernels[workload] = ratio;
      best.erase(workload);
      if (ratio.high < 1 || candidates.at(workload)[n].sure) best[workload] = traces.at(workload);
    }
  }
  if (best.empty()) return out;
  out.problem.clear();
  keep_what_helps(out, best, [&](const Traces& kept) -> tune::Estimate {
    if (stopped()) return {1, 1, 1};
    constexpr tune::Estimate kWrong{2, 2, 2};
    std::vector<Turn> turns;
    std::optional<TimedModel> tuned;
    for (size_t part = 0; part < kParts && !stopped(); ++part) {
      if (!tuned || builds.cheap()) {
        builds.tuned(tuned, kept);
        if (!different(untuned, *tuned).empty()) return kWrong;
      }
      run_in_turn(builds.untuned(), *tuned, kForPart * seconds, options.stop, turns);
      const tune::Estimate so_far = quiet_ratio(turns);
      const bool another = builds.cheap() && part == 0;  // place in memory
      if (!another && (so_far.high < 1 || so_far.low >= 1)) break;
    }
    return quiet_ratio(turns);
  });
  return out;
}

}  // namespace tilewright::driver
