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

/// The same traces for the kernels of the model.
ModelOptions with(const std::map<std::string, std::string>& traces, ModelOptions options) {
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

tune::Estimate whole_ratio(TimedModel& untuned, TimedModel& tuned, double seconds,
                           const std::atomic<bool>* stop) {
  std::vector<double> ratios;
  rounds(seconds, stop, [&](size_t i) {
    // Who goes first changes.
    const double first = (i % 2 == 0 ? untuned : tuned).run();
    const double second = (i % 2 == 0 ? tuned : untuned).run();
    ratios.push_back(i % 2 == 0 ? second / first : first / second);
  });
  return tune::estimate(std::move(ratios));
}

}  // namespace

ContextResult in_context(const graph::Graph& model, const TuneOptions& options, TimedModel& untuned,
                         const std::vector<ModelTask>& tasks,
                         const std::map<std::string, std::string>& traces, double seconds) {
  ContextResult out;
  if (traces.empty()) return out;
  {
    TimedModel all(model, with(traces, options.model), options.threads, options.inputs);
    if (out.problem = different(untuned, all); !out.problem.empty()) return out;
    std::map<std::string, std::vector<double>> ratios;
    rounds(seconds / 2, options.stop, [&](size_t) {
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
    for (auto& [workload, samples] : ratios) {
      const tune::Estimate e = out.kernels[workload] = tune::estimate(std::move(samples));
      if (e.median < 1) out.kept[workload] = traces.at(workload);
    }
  }
  if (out.kept.empty()) return out;
  TimedModel kept(model, with(out.kept, options.model), options.threads, options.inputs);
  out.whole = whole_ratio(untuned, kept, seconds / 2, options.stop);
  if (out.whole.median >= 1) {
    out.kept.clear();
    out.whole = {1, 1, 1};
    out.problem = "faster alone, but the whole model is not";
  }
  return out;
}

}  // namespace tilewright::driver
