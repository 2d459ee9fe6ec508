// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_context.h"

#include <chrono>
#include <memory>

#include "driver/check_model.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewest = 6, kMost = 500;  // rounds
constexpr double kTolerance = 1e-4;         // of results, relative to the greatest
// Of the time: for building models, for kernels in them, and for the whole model at first and again
// where it is not clear. One build there is always.
constexpr double kForBuilds = 0.3, kForKernels = 0.5, kForWhole = 0.2;
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

/// As when it runs again and again: the models between two runs of one read other constants.
double warm_run(TimedModel& model) {
  if (const double cold = model.run(); cold > kCold) return cold;
  return model.run();
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

/// Measured for twice as long when the interval has both faster and slower in it. Who stops it
/// before the first round has seen nothing that is faster.
tune::Estimate whole_ratio(TimedModel& untuned, TimedModel& tuned, double seconds,
                           const std::atomic<bool>* stop) {
  std::vector<double> ratios;
  const auto measured = [&] {
    rounds(seconds, stop, [&](size_t i) {
      // Who goes first changes.
      const double first = warm_run(i % 2 == 0 ? untuned : tuned);
      const double second = warm_run(i % 2 == 0 ? tuned : untuned);
      ratios.push_back(i % 2 == 0 ? second / first : first / second);
    });
    return ratios.empty() ? tune::Estimate{1, 1, 1} : tune::estimate(ratios);
  };
  const tune::Estimate first = measured();
  return first.low < 1 && first.high >= 1 ? measured() : first;
}

}  // namespace

void keep_what_helps(ContextResult& result, const Traces& traces,
                     const std::function<tune::Estimate(const Traces&)>& whole) {
  for (const auto& [workload, ratio] : result.kernels)
    if (ratio.median < 1) result.kept[workload] = traces.at(workload);
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

/// The n-th candidates of all kernels that have so many.
static Traces numbered(const Candidates& candidates, size_t n) {
  Traces out;
  for (const auto& [workload, traces] : candidates)
    if (n < traces.size()) out[workload] = traces[n];
  return out;
}

ContextResult in_context(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
                         const std::vector<ModelTask>& tasks, const Candidates& candidates,
                         double seconds) {
  const Clock::time_point start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  struct Build {
    Traces traces;
    std::unique_ptr<TimedModel> model;
    std::map<std::string, std::vector<double>> ratios;  // by workload
  };
  ContextResult out;
  Traces best;
  {
    std::vector<Build> builds;
    for (size_t n = 0; n == 0 || spent() < kForBuilds * seconds; ++n) {
      Build b{numbered(candidates, n), nullptr, {}};
      if (b.traces.empty() || (options.stop && *options.stop)) break;
      b.model = std::make_unique<TimedModel>(model, with(b.traces, options.model), options.threads,
                                             options.inputs);
      const std::string problem = different(untuned, *b.model);
      if (problem.empty())
        builds.push_back(std::move(b));
      else
        out.problem = problem;
    }
    if (builds.empty()) return out;
    out.problem.clear();
    const bool cold = untuned.run() > kCold;
    const auto observed = [&](TimedModel& m) {
      if (!cold) m.run();
      return m.run_observed();
    };
    rounds(std::max(kForBuilds + kForKernels - spent() / seconds, kForKernels) * seconds,
           options.stop, [&](size_t) {
             const std::vector<double> without = observed(untuned);
             for (Build& b : builds) {
               const std::vector<double> with = observed(*b.model);
               for (const ModelTask& t : tasks) {
                 if (!b.traces.contains(t.task->workload)) continue;
                 double mine = 0, its = 0;
                 for (const size_t k : t.kernels) {
                   mine += with[k];
                   its += without[k];
                 }
                 b.ratios[t.task->workload].push_back(mine / its);
               }
             }
           });
    for (Build& b : builds)
      for (auto& [workload, samples] : b.ratios) {
        const tune::Estimate ratio = tune::estimate(std::move(samples));
        const auto [place, is_new] = out.kernels.try_emplace(workload, ratio);
        if (!is_new && ratio.median >= place->second.median) continue;
        place->second = ratio;
        best[workload] = b.traces.at(workload);
      }
  }
  keep_what_helps(out, best, [&](const Traces& kept) {
    TimedModel some(model, with(kept, options.model), options.threads, options.inputs);
    return whole_ratio(untuned, some, kForWhole * seconds, options.stop);
  });
  return out;
}

}  // namespace tilewright::driver
