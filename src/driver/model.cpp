// SPDX-License-Identifier: Apache-2.0
#include "driver/model.h"

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

void add_variant(graph::Graph& graph, const ir::TargetSpec& target, const ModelOptions& options,
                 Module& module) {
  const BuiltKernels kernels = build_kernels(graph, {.target = target,
                                                     .emit = options.emit,
                                                     .threads = options.threads,
                                                     .cache = options.cache.get(),
                                                     .progress = options.progress});
  if (options.warn)
    for (const BuiltKernel& k : kernels.kernels)
      if (!k.plain.empty())
        options.warn(str("kernel `", k.name, "` runs as plain loops: ", k.plain));
  plan_model(graph, kernels, link(kernels), target, module);
}

}  // namespace

graph::Graph optimized(const graph::Graph& model, const ModelOptions& options) {
  graph::PassContext passes;
  passes.services.find_op = ops::find;
  passes.services.evaluate = Evaluator(target::parse_target("host"), options.cache);
  passes.services.cycles = KernelCost(options.target);
  passes.services.vector_bits = options.target.vector_bits;
  passes.skip = options.skip;
  return graph::run(graph::default_pipeline(), model, passes);
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
      out += ir::print(ir::Unit{{}, {}, {tune::choose(k.blocks, options.target, k.constants)}});
    else if (stage == "final" || stage == "code") {
      const ir::LoopFunc final = lower_for_cpu(
          tune::prepack(tune::choose(k.blocks, options.target, k.constants), k.constants).run,
          options.target);
      out += stage == "final" ? ir::print(ir::Unit{{}, {}, {final}})
                              : target::llvm::emit_assembly(final, options.target, options.emit);
    } else
      throw Error({.code = "driver.emit.stage",
                   .at = {},
                   .message = str("there is no stage `", stage, "` of a model"),
                   .notes = {},
                   .help = "use one of graph, fused, te, loops, scheduled, final, code"});
  }
  return out;
}

Module compile_model(const graph::Graph& model, const ModelOptions& options) {
  graph::Graph graph = optimized(model, options);
  Module module;
  add_variant(graph, options.target, options, module);
  for (const ir::TargetSpec& target : options.more_targets)
    add_variant(graph, target, options, module);
  return module;
}

}  // namespace tilewright::driver
