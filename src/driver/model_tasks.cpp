// SPDX-License-Identifier: Apache-2.0
#include "driver/model_tasks.h"

#include <algorithm>
#include <chrono>

#include "driver/kernel_work.h"
#include "driver/plan_steps.h"
#include "module/in_memory.h"
#include "runtime/api.h"
#include "tune/measure/arguments.h"

namespace tilewright::driver {
namespace {

constexpr int kRuns = 5;
constexpr double kLeastShare = 0.002;  // of the model's time: less is not worth a trial

/// What one call takes at least, and the bytes of constants that it reads; 0 when that is not
/// known.
struct Least {
  double seconds = 0, constants = 0;
};
Least least_of(const BuiltKernel& kernel, const tune::Task& task, const Roofs& roofs) {
  const std::vector<size_t> packed = packed_params(kernel);
  const auto work = work_of(kernel.blocks, {task.symbols.begin(), task.symbols.end()}, packed);
  if (!work) return {};
  try {
    const tune::Arguments arguments(task);
    double bytes = 0, constants = 0;
    for (size_t i = 0; i < arguments.count(); ++i) {
      const auto all = static_cast<double>(arguments.bytes(i));
      const bool counted = i < arguments.inputs() && std::ranges::count(packed, i) == 0;
      const double read =
          counted ? std::min(all, work->loads[i] * ir::bits(arguments.elem(i)) / 8) : all;
      bytes += read;
      if (std::ranges::count(task.constants, task.func.params[i].buffer->name) > 0)
        constants += read;
    }
    return {roofs.seconds(work->flops, bytes), constants};
  } catch (const Error&) {
    return {};  // a size that the run alone tells
  }
}

}  // namespace

TimedModel::TimedModel(const graph::Graph& model, const ModelOptions& options, int threads,
                       const std::vector<frontend::NamedTensor>& inputs)
    : compiled_(compile_with_report(model, options)),
      module_(module_in_memory(compiled_.module), threads) {
  if (inputs.empty())
    module_.set_random_inputs(1);
  else
    module_.set_inputs(inputs);
  module_.run();  // says what is wrong with the inputs
  const runtime::LoadedModule& loaded = *runtime::from_c(module_.module().get());
  calls_.resize(kernels().size());
  const PlanSteps plan = plan_steps(loaded.view(), loaded.variant(), module_.input_shapes());
  const PlanView& all = loaded.variant().plan;
  arena_bytes_ = std::max(plan.arena_bytes, all.arena_max);
  workspace_bytes_ = all.workspace_max;
  for (const PlanStep& step : plan.steps) {
    if (step.kernel == kNone) continue;
    kernel_of_[step.instruction] = step.kernel;
    Calls& calls = calls_.at(step.kernel);
    if (calls.count++ > 0) continue;
    for (const std::optional<int64_t>& value : step.scalars)
      if (value) calls.symbols.push_back(*value);
    if (calls.symbols.size() != step.scalars.size()) calls.symbols.clear();
  }
}

double TimedModel::run() {
  const auto start = std::chrono::steady_clock::now();
  module_.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<double> TimedModel::run_observed() {
  struct Seen {
    const std::map<uint32_t, size_t>& kernel_of;
    std::vector<double> seconds;
  } seen{kernel_of_, std::vector<double>(kernels().size())};
  tw::check(tw_observe(
      module_.context().get(),
      [](void* user, const tw_event* e) {
        Seen& to = *static_cast<Seen*>(user);
        const auto found = to.kernel_of.find(static_cast<uint32_t>(e->instruction));
        if (found != to.kernel_of.end())
          to.seconds[found->second] += static_cast<double>(e->end_ns - e->begin_ns) * 1e-9;
      },
      &seen));
  module_.run();
  tw::check(tw_observe(module_.context().get(), nullptr, nullptr));
  return seen.seconds;
}

std::vector<ModelTask> tasks_of(TimedModel& model, const ir::TargetSpec& target,
                                const Roofs& roofs) {
  std::vector<std::vector<double>> seconds(model.kernels().size());
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<double> one = model.run_observed();
    for (size_t k = 0; k < one.size(); ++k) seconds[k].push_back(one[k]);
  }
  std::vector<ModelTask> all;
  std::vector<std::shared_ptr<tune::Task>> made;
  double constants = 0;                  // bytes that a run reads
  std::map<std::string, size_t> places;  // two kernels of different constants may be the same
  for (size_t k = 0; k < seconds.size(); ++k) {
    const TimedModel::Calls& calls = model.calls()[k];
    if (calls.count == 0) continue;
    const BuiltKernel& kernel = model.kernels()[k];
    tune::Task task =
        tune::make_task(kernel.name, kernel.blocks, kernel.constants, target, calls.symbols);
    task.weight = calls.count;
    const auto [place, is_new] = places.try_emplace(task.workload, all.size());
    if (is_new) {
      made.push_back(std::make_shared<tune::Task>(std::move(task)));
      all.push_back({.task = made.back(), .kernels = {}});
    }
    ModelTask& to = all[place->second];
    to.kernels.push_back(k);
    to.seconds += tune::estimate(seconds[k]).median;
    to.calls += calls.count;
    const Least least = least_of(kernel, *to.task, roofs);
    to.roof_seconds += calls.count * least.seconds;
    constants += calls.count * least.constants;
  }
  for (const auto& task : made) {
    task->between = static_cast<int64_t>(constants);
    task->arena = model.arena_bytes();
    task->workspace = model.workspace_bytes();
  }
  double whole = 0;
  for (const ModelTask& t : all) whole += t.seconds;
  std::erase_if(all, [&](const ModelTask& t) { return t.seconds < kLeastShare * whole; });
  std::ranges::sort(all, std::greater{}, &ModelTask::seconds);
  return all;
}

}  // namespace tilewright::driver
