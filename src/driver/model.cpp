// SPDX-License-Identifier: Apache-2.0
#include "driver/model.h"

#include <algorithm>

#include "driver/build_kernels.h"
#include "driver/evaluate.h"
#include "driver/kernel.h"
#include "driver/kernel_cost.h"
#include "driver/plan_model.h"
#include "graph/pipeline.h"
#include "ir/print.h"
#include "ops/all.h"
#include "support/str.h"
#include "target/host.h"
#include "target/llvm/compile.h"
#include "te/print.h"
#include "tune/choose/choose.h"
#include "tune/choose/prepack.h"

namespace tilewright::driver {
namespace {

/// Not a pass over the graph, but left out like one.
constexpr std::string_view kMemoryPlan = "memory_plan";

CodeImage link(const BuiltKernels& built) {
  std::vector<target::Kernel> objects;
  for (const BuiltKernel& k : built.kernels) objects.push_back(k.code);
  CodeImage image;
  if (objects.empty()) return image;
  const std::string library = target::llvm::link_shared_object(objects);
  std::string problem;
  const bool ok = image_from_elf(std::as_bytes(std::span(library)), image, problem);
  require(ok, problem.c_str());
  return image;
}

void require_tuned(const BuiltKernels& built, const ir::TargetSpec& target) {
  std::vector<std::string> notes;
  for (const BuiltKernel& k : built.kernels)
    if (k.origin == ScheduleOrigin::Untuned || k.origin == ScheduleOrigin::Transferred)
      notes.push_back(str("`", k.name, "` ",
                          k.refused.empty() ? "has none" : str("cannot use its own: ", k.refused)));
  if (notes.empty()) return;
  throw Error({.code = "driver.records.untuned",
               .at = {},
               .message = str(notes.size(), " of ", built.kernels.size(),
                              " kernels have no record for target ", target.name),
               .notes = std::move(notes),
               .help = "tune the model with `tilewright tune MODEL --records DB`, or leave out "
                       "--require-records"});
}

/// Where factors are bf16 on purpose, the instructions that multiply them take subnormals as 0,
/// too.
target::EmitOptions emit_options(const ModelOptions& options) {
  target::EmitOptions out = options.emit;
  out.subnormals = out.subnormals && options.precision != ir::Elem::BF16;
  return out;
}

/// Adds the code for a target and its plan; gives the kernels and what the plan calls, in its
/// order.
std::pair<BuiltKernels, std::vector<KernelCall>> add_variant(graph::Graph& graph,
                                                             const ir::TargetSpec& target,
                                                             const ModelOptions& options,
                                                             Module& module) {
  BuiltKernels kernels = build_kernels(graph, {.target = target,
                                               .emit = emit_options(options),
                                               .threads = options.threads,
                                               .cache = options.cache.get(),
                                               .schedules = options.schedules,
                                               .progress = options.progress});
  if (options.require_schedules) require_tuned(kernels, target);
  if (options.warn)
    for (const BuiltKernel& k : kernels.kernels) {
      if (!k.plain.empty())
        options.warn(str("kernel `", k.name, "` runs as plain loops: ", k.plain));
      if (!k.refused.empty())
        options.warn(str("the record of kernel `", k.name, "` is not used: ", k.refused));
    }
  std::vector<KernelCall> calls =
      plan_model(graph, kernels, link(kernels), target, module, shares_memory(options));
  return {std::move(kernels), std::move(calls)};
}

/// What is left out has to be there: a name that means nothing would leave the user in doubt.
void require_known(const std::vector<std::string>& skipped) {
  for (const std::string& name : skipped) {
    const bool known = name == kMemoryPlan || graph::find_pass(name) ||
                       std::ranges::any_of(ops::all(), [&](auto* op) {
                         return std::ranges::count(op->algorithms, name, &graph::Algorithm::name);
                       });
    if (known) continue;
    std::string passes;
    for (const graph::Pass& pass : graph::default_pipeline())
      if (passes.find(pass.name) == std::string::npos)
        passes += str(passes.empty() ? "" : ", ", pass.name);
    throw Error(
        {.code = "driver.skip.name",
         .at = {},
         .message = str("there is no pass or algorithm `", name, "` to leave out"),
         .notes = {str("the passes are ", passes)},
         .help = "name one of them, memory_plan, or an algorithm of an operator such as winograd"});
  }
}

/// Models that were exported when every weight had to be an input are slow without a reason that
/// their user could see.
void warn_of_defaults(const graph::Graph& graph, const ModelOptions& options) {
  constexpr size_t kSmall = size_t{1} << 20;
  size_t bytes = 0;
  for (const auto& [id, content] : graph.defaults) bytes += content->bytes.size();
  if (options.warn && bytes > kSmall)
    options.warn(str(graph.defaults.size(), " inputs have defaults, ", bytes >> 20,
                     " MiB together (`", graph.value(graph.defaults.begin()->first).name,
                     "`, ...): a run may give others, so they are neither folded nor packed; if "
                     "none does, remove them from the inputs of the model's graph"));
}

int64_t constant_bytes(const graph::Graph& graph) {
  int64_t sum = 0;
  for (const graph::Value& v : graph.values)
    if (v.constant) sum += static_cast<int64_t>(v.constant->bytes.size());
  return sum;
}

graph::Graph optimized(const graph::Graph& model, const ModelOptions& options,
                       graph::PassContext& passes) {
  passes.services.find_op = ops::find;
  passes.services.evaluate =
      Evaluator(target::parse_target("host"), options.cache, constant_bytes(model));
  passes.services.cycles = KernelCost(options.target);
  passes.services.vector_bits = options.target.vector_bits;
  require_known(options.skip);
  passes.skip = options.skip;
  passes.factors = options.precision;
  return graph::run(graph::default_pipeline(), model, passes);
}

}  // namespace

ir::Elem precision_from_name(std::string_view name) {
  for (const ir::Elem elem : {ir::Elem::F32, ir::Elem::BF16})
    if (ir::name(elem) == name) return elem;
  throw Error({.code = "driver.precision.name",
               .at = {},
               .message = str("there is no precision `", name, "`"),
               .notes = {},
               .help = "use f32, or bf16 for products of rounded factors"});
}

bool shares_memory(const ModelOptions& options) {
  return std::ranges::find(options.skip, kMemoryPlan) == options.skip.end();
}

std::string emit_model(const graph::Graph& model, const ModelOptions& options,
                       std::string_view stage) {
  if (stage == "graph") return graph::print(model);
  graph::Graph graph = optimized(model, options);
  if (stage == "fused") return graph::print(graph);
  std::string out;
  for (const PlainKernel& k : plain_kernels(graph)) {
    out += str("// ", k.name, "\n");
    if (stage == "te")
      out += k.program ? te::print(*k.program) : ir::print(ir::Unit{{}, {}, {k.blocks}});
    else if (stage == "loops")
      out += ir::print(ir::Unit{{}, {}, {k.blocks}});
    else if (stage == "scheduled")
      out += ir::print(ir::Unit{
          {}, {}, {tune::choose(k.blocks, options.target, k.constants, k.variant_of.get())}});
    else if (stage == "final" || stage == "code") {
      const ir::LoopFunc final = lower_for_cpu(
          tune::prepack(tune::choose(k.blocks, options.target, k.constants, k.variant_of.get()),
                        k.constants)
              .run,
          options.target);
      out += stage == "final"
                 ? ir::print(ir::Unit{{}, {}, {final}})
                 : target::llvm::emit_assembly(final, options.target, emit_options(options));
    } else
      throw Error({.code = "driver.emit.stage",
                   .at = {},
                   .message = str("there is no stage `", stage, "` of a model"),
                   .notes = {},
                   .help = "use one of graph, fused, te, loops, scheduled, final, code"});
  }
  return out;
}

graph::Graph optimized(const graph::Graph& model, const ModelOptions& options) {
  graph::PassContext passes;
  return optimized(model, options, passes);
}

CompiledModel compile_with_report(const graph::Graph& model, const ModelOptions& options) {
  CompiledModel out;
  warn_of_defaults(model, options);
  graph::PassContext passes;
  out.graph = optimized(model, options, passes);
  out.fusion = std::move(passes.fusion);
  out.layouts = std::move(passes.layouts);
  std::tie(out.kernels, out.calls) = add_variant(out.graph, options.target, options, out.module);
  // Each target has layouts and algorithms of its own.
  ModelOptions other = options;
  for (const ir::TargetSpec& target : options.more_targets) {
    other.target = target;
    graph::Graph graph = optimized(model, other);
    add_variant(graph, target, other, out.module);
  }
  return out;
}

Module compile_model(const graph::Graph& model, const ModelOptions& options) {
  return compile_with_report(model, options).module;
}

}  // namespace tilewright::driver
