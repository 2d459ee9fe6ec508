// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"
#include "ir/target_spec.h"
#include "target/llvm/compile.h"
#include "tune/measure/build.h"

namespace tilewright::driver {

/// One function of stage `loops` or `scheduled` all the way to code in this process: lowering, then
/// the LLVM back end. The path of a whole model makes many of these.
target::llvm::JitKernel compile_kernel(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                                       const target::EmitOptions& options = {});

using tune::lower_for_cpu;

}  // namespace tilewright::driver
