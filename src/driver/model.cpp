// SPDX-License-Identifier: Apache-2.0
#include "driver/model.h"

#include "driver/build_kernels.h"
#include "driver/plan_model.h"
#include "graph/pipeline.h"
#include "ops/all.h"
#include "target/llvm/compile.h"

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

}  // namespace

Module compile_model(const graph::Graph& model, const ModelOptions& options) {
  graph::PassContext passes;
  passes.services.find_op = ops::find;
  passes.skip = options.skip;
  graph::Graph graph = graph::run(graph::default_pipeline(), model, passes);
  const BuiltKernels kernels = build_kernels(graph, {.target = options.target,
                                                     .emit = options.emit,
                                                     .threads = options.threads,
                                                     .progress = options.progress});
  Module module;
  plan_model(graph, kernels, link(kernels), options.target, module);
  return module;
}

}  // namespace tilewright::driver
