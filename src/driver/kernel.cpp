// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel.h"

namespace tilewright::driver {

target::llvm::JitKernel compile_kernel(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                                       const target::EmitOptions& options) {
  return target::llvm::compile(lower_for_cpu(func, spec), spec, options);
}

}  // namespace tilewright::driver
