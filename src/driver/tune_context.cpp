// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_context.h"

#include <chrono>

#include "driver/check_model.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewest = 6, kMost = 500;  // rounds
constexpr double kTolerance = 1e-4;         // of results, relative to the greatest
// Of the time: for kernels, and for the whole model at first and again where it is not clear.
constexpr double kForKernels = 0.4, kForWhole = 0.3;

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

/// Measured for twice as long when the interval has both faster and slower in it. Who stops it
/// before the first round has seen nothing that is faster.
tune::Estimate whole_ratio(TimedModel& untuned, TimedModel& tuned, double seconds,
                           const std::atomic<bool>* stop) {
  std::vector<double> ratios;
  const auto measured = [&] {
    rounds(seconds, stop, [&](size_t i) {
      // Who goes first changes.
      const double first = (i % 2 == 0 ? untuned : tuned).run();
      const double second = (i % 2 == 0 ? tuned : untuned).run();
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

ContextResult in_context(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
                         const std::vector<ModelTask>& tasks, const Traces& traces,
                         double seconds) {
  ContextResult out;
  if (traces.empty()) return out;
  {
    TimedModel all(model, with(traces, options.model), options.threads, options.inputs);
    if (out.problem = different(untuned, all); !out.problem.empty()) return out;
    std::map<std::string, std::vector<double>> ratios;
    rounds(kForKernels * seconds, options.stop, [&](size_t) {
      const std::vector<double> without = untuned.run_observed(), with = all.run_observed();
      for (const ModelTask& t : tasks) {
        if (!traces.contains(t.task->workload)) continue;
        double a = 0, b = 0;
        for (const size_t k : t.kernels) {
          a += without[k];
          b += with[k];
        }
        ratios[t.task->workload].push_back(b / a);
      }
    });
    for (auto& [workload, samples] : ratios)
      out.kernels[workload] = tune::estimate(std::move(samples));
  }
  keep_what_helps(out, traces, [&](const Traces& kept) {
    TimedModel some(model, with(kept, options.model), options.threads, options.inputs);
    return whole_ratio(untuned, some, kForWhole * seconds, options.stop);
  });
  return out;
}

}  // namespace tilewright::driver
