// SPDX-License-Identifier: Apache-2.0
#include "driver/explain.h"

#include <algorithm>
#include <limits>
#include <map>

#include "driver/build_kernels.h"
#include "driver/kernel_work.h"
#include "driver/run_model.h"
#include "graph/op_def.h"
#include "graph/pipeline.h"
#include "module/in_memory.h"
#include "runtime/api.h"
#include "support/str.h"

namespace tilewright::driver {
namespace {

using graph::FusionKind;

/// Why a member stands in one kernel with those before it.
std::string reason_for(const graph::Node& member, const std::vector<graph::Node>& before) {
  const FusionKind kind = member.op->fusion;
  const auto anchor = std::find_if(before.begin(), before.end(), [](const graph::Node& n) {
    return n.op->fusion != FusionKind::Injective;
  });
  if (anchor == before.end())
    return kind == FusionKind::Injective
               ? "works element by element, so it is computed together with what it reads"
               : "reads what stands before it element by element, which is computed on the way";
  if (anchor->op->fusion == FusionKind::OutFusable)
    return str("works element by element on the result of `", anchor->op->name,
               "` while that is in registers or cache");
  return str("works on the same rows as `", anchor->op->name, "`, or on its result");
}

/// Decorates steps with what the graph knows.
class GraphFacts {
 public:
  explicit GraphFacts(const CompiledModel& compiled) : graph_(compiled.graph), compiled_(compiled) {
    for (const graph::NotFused& n : compiled.fusion)
      not_fused_[n.consumer].push_back(str("not together with `", n.producer, "`: ", n.reason));
    for (const graph::LayoutReason& l : compiled.layouts) layouts_[l.value] = &l;
  }

  void add(Explanation& e) const {
    size_t next = 0;
    for (Explanation::Step& step : e.steps) {
      if (step.plan.kernel == kNone || next == compiled_.calls.size()) continue;
      const auto& [node, use] = compiled_.calls[next++];
      const BuiltKernel& kernel = compiled_.kernels.kernels[use->kernel];
      step.plain = kernel.plain;
      step.origin = kernel.origin;
      step.tuned = kernel.tuned;
      step.refused = kernel.refused;
      work(kernel, step);
      name_values(*use, step.plan, e);
      members(*node, step);
      layouts(*use, step);
    }
  }

 private:
  /// An embedding reads a few rows of its table: bytes count as far as there are loads for them.
  static void work(const BuiltKernel& kernel, Explanation::Step& step) {
    const std::optional<KernelWork> work =
        work_of(kernel.blocks, step.plan.scalars, packed_params(kernel));
    if (!work) return;
    step.flops = work->flops;
    for (size_t i = 0; i < step.plan.reads.size() && i < kernel.taken.size(); ++i) {
      const size_t param = kernel.taken[i];
      const int bits = ir::info(kernel.blocks.params[param].buffer->elem).bits;
      step.read_bytes.push_back(work->loads[param] * bits / 8);
    }
  }

  void layouts(const KernelUse& use, Explanation::Step& step) const {
    for (size_t i = use.inputs.size() - use.packed; i < use.inputs.size(); ++i) {
      const graph::Value& v = graph_.value(use.inputs[i]);
      step.layouts.push_back(
          str("`", v.name, "` was packed at compile time as ", graph::print(v.type)));
    }
    for (const graph::ValueId id : use.outputs) {
      const auto found = layouts_.find(graph_.value(id).name);
      if (found == layouts_.end()) continue;
      const graph::LayoutReason& l = *found->second;
      step.layouts.push_back(
          str("`", l.value, "` lies ",
              l.block > 0 ? str("with its channels in blocks of ", l.block) : "row-major", ": ",
              static_cast<int64_t>(l.cycles), " modelled cycles of those that make and read it, ",
              static_cast<int64_t>(l.otherwise), " the other way"));
    }
  }

  void name_values(const KernelUse& use, const PlanStep& plan, Explanation& e) const {
    const auto name = [&](const std::vector<graph::ValueId>& ids, const std::vector<uint32_t>& of) {
      for (size_t i = 0; i < ids.size() && i < of.size(); ++i)
        if (e.names[of[i]].empty()) e.names[of[i]] = graph_.value(ids[i]).name;
    };
    name(use.outputs, plan.writes);
    name(use.inputs, plan.reads);
  }

  void members(const graph::Node& node, Explanation::Step& step) const {
    const bool group = node.op->special == graph::Special::Group;
    const std::vector<graph::Node> nodes =
        group ? node.bodies[0].nodes : std::vector<graph::Node>{node};
    std::vector<graph::Node> before;
    for (const graph::Node& m : nodes) {
      const graph::ValueId made = m.outputs.at(0);
      const std::string value = made == graph::kNoValue ? "" : graph_.value(made).name;
      step.members.push_back({std::string(m.op->name), value, m.origin.text});
      if (!before.empty())
        step.reasons.push_back(str("`", m.op->name, "` ", reason_for(m, before)));
      before.push_back(m);
    }
    for (const Explanation::Member& m : step.members)
      if (const auto found = not_fused_.find(m.value); found != not_fused_.end())
        for (const std::string& why : found->second)
          step.reasons.push_back(str("`", m.op, "` ", why));
  }

  const graph::Graph& graph_;
  const CompiledModel& compiled_;
  std::map<std::string, std::vector<std::string>> not_fused_;  // by the reader's value
  std::map<std::string, const graph::LayoutReason*> layouts_;  // by value
};

/// Ports have names without a graph, too.
void name_ports(const ModuleView& view, Explanation& e) {
  for (size_t v = 0; v < e.values.size(); ++v) {
    const PlannedValue& value = e.values[v];
    if (value.storage == PlanValue::Storage::Input)
      e.names[v] = view.name(view.inputs[value.index].name);
    if (value.storage == PlanValue::Storage::Output)
      e.names[v] = view.name(view.outputs[value.index].name);
  }
}

void measure(LoadedModule& module, double seconds, Explanation& e) {
  const BenchResult result = bench(module, seconds);
  e.median_ms = result.quantile(0.5);
  e.constant_bytes = result.constant_bytes;
  std::map<uint32_t, const BenchResult::Call*> calls;
  for (const BenchResult::Call& c : result.calls) calls[c.instruction] = &c;
  for (Explanation::Step& step : e.steps)
    if (const auto found = calls.find(step.plan.instruction); found != calls.end()) {
      step.calls = found->second->count;
      step.ms = found->second->ms;
    }
}

void roofs(Explanation& e) {
  e.roofs = measure_roofs(e.threads);
  for (Explanation::Step& step : e.steps) {
    if (step.plan.kernel == kNone) continue;
    double bytes = 0;
    bool known = step.calls > 0;
    std::map<uint32_t, double> touched;  // bytes by value
    const auto touch = [&](uint32_t v, double most) {
      known = known && e.values[v].bytes;
      const double all = static_cast<double>(e.values[v].bytes.value_or(0));
      touched[v] = std::max(touched[v], std::min(all, most));
    };
    constexpr double kAll = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < step.plan.reads.size(); ++i)
      touch(step.plan.reads[i], i < step.read_bytes.size() ? step.read_bytes[i] : kAll);
    for (const uint32_t v : step.plan.writes) touch(v, kAll);
    for (const auto& [v, n] : touched) bytes += n;
    if (!known) continue;
    step.bytes = bytes;
    step.roof_ms = 1e3 * step.calls * e.roofs.seconds(step.flops.value_or(0), bytes);
    step.compute_bound = e.roofs.compute_bound(step.flops.value_or(0), bytes);
  }
}

/// The most that is in use at one step.
int64_t live_bytes(const Explanation& e) {
  int64_t most = 0;
  for (int i = 0; i < static_cast<int>(e.steps.size()); ++i) {
    int64_t live = 0;
    for (const PlannedValue& v : e.values)
      if (v.offset && v.whole == kNone && v.first <= i && i <= v.last) live += v.bytes.value_or(0);
    most = std::max(most, live);
  }
  return most;
}

Explanation explain(LoadedModule& module, const ExplainOptions& options, const GraphFacts* facts) {
  const runtime::LoadedModule& loaded = *runtime::from_c(module.module().get());
  if (options.inputs.empty())
    module.set_random_inputs(1);
  else
    module.set_inputs(options.inputs);
  module.run();  // says what is wrong with the inputs
  PlanSteps plan = plan_steps(loaded.view(), loaded.variant(), module.input_shapes());
  Explanation e;
  e.values = std::move(plan.values);
  e.names.resize(e.values.size());
  e.arena_bytes = plan.arena_bytes;
  e.threads = options.threads;
  for (PlanStep& s : plan.steps) e.steps.push_back({.plan = std::move(s)});
  name_ports(loaded.view(), e);
  if (facts) facts->add(e);
  e.live_bytes = live_bytes(e);
  measure(module, options.seconds, e);
  roofs(e);
  return e;
}

}  // namespace

Explanation explain_model(const graph::Graph& model, const ExplainOptions& options) {
  ModelOptions one = options.model;
  one.more_targets.clear();
  const CompiledModel compiled = compile_with_report(model, one);
  LoadedModule module(module_in_memory(compiled.module), options.threads);
  const GraphFacts facts(compiled);
  Explanation e = explain(module, options, &facts);
  e.arena_texts = compiled.module.variants.front().plan.arena_texts;
  return e;
}

Explanation explain_module(const std::string& path, const ExplainOptions& options) {
  LoadedModule module(std::filesystem::path(path), options.threads);
  return explain(module, options, nullptr);
}

std::optional<double> share_of_roof(const Explanation::Step& step) {
  if (!step.roof_ms || step.ms <= 0) return {};
  return *step.roof_ms / step.ms;
}

}  // namespace tilewright::driver
