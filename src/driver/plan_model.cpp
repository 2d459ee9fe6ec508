// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_model.h"

#include "driver/planner.h"
#include "target/llvm/compile.h"

namespace tilewright::driver {
namespace {

KernelParam::Access access_of(ir::Access access) {
  return access == ir::Access::In    ? KernelParam::Access::Read
         : access == ir::Access::Out ? KernelParam::Access::Write
                                     : KernelParam::Access::Update;
}

}  // namespace

std::vector<KernelCall> plan_model(const graph::Graph& graph, const BuiltKernels& kernels,
                                   CodeImage image, const ir::TargetSpec& target, Module& module,
                                   bool share_memory) {
  ModuleVariant variant;
  variant.triple = target.triple;
  variant.code = std::move(image);
  variant.needs.arch = arch_of(target.triple);
  add_features(variant.needs, target::llvm::feature_list(target));
  for (const BuiltKernel& k : kernels.kernels) {
    KernelEntry entry{.name = k.name, .params = {}};
    entry.scalars = static_cast<uint32_t>(k.func.symbols.size());
    for (const auto& [name, offset] : variant.code.entries)
      if (name == k.code.entry) entry.offset = offset;
    for (const ir::Param& p : k.func.params) entry.params.push_back({access_of(p.access), 0});
    variant.kernels.push_back(std::move(entry));
  }
  Planner planner(graph, kernels, module, share_memory);
  variant.plan = planner.run();
  if (module.variants.empty())
    for (const auto& [key, text] : graph.metadata) module.metadata.emplace_back(key, text);
  module.variants.push_back(std::move(variant));
  return planner.calls();
}

}  // namespace tilewright::driver
