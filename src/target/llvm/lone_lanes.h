// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/IR/PassManager.h"

namespace tilewright::target::llvm {

/// Stores single elements where all lanes but one of a masked store are off. LLVM 22 for AVX-512
/// stores four bytes for a byte that was narrowed from 32 bits there.
///   before   call void @llvm.masked.store(<16 x i8> %v, ptr %p, <16 x i1> <i1 true, i1 false, …>)
///   after    store i8 (extractelement %v, 0), ptr %p
struct LoneLanes : ::llvm::PassInfoMixin<LoneLanes> {
  ::llvm::PreservedAnalyses run(::llvm::Function& f, ::llvm::FunctionAnalysisManager&);
};

}  // namespace tilewright::target::llvm
