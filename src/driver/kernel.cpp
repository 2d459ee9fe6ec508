// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel.h"

namespace tilewright::driver {

ir::LoopFunc lower_for_cpu(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  lower::PassContext context;
  context.limits.max_lanes = spec.vector_bits / 8;
  context.limits.instructions = target::llvm::instruction_names(spec);
  return lower::run(lower::cpu_pipeline(), func, context);
}

target::llvm::JitKernel compile_kernel(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                                       const target::EmitOptions& options) {
  return target::llvm::compile(lower_for_cpu(func, spec), spec, options);
}

}  // namespace tilewright::driver
