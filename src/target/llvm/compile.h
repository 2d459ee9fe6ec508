// SPDX-License-Identifier: Apache-2.0
// The LLVM back end: loop IR of stage `final` → machine code for the host or another target. Seen
// without any LLVM header.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"
#include "target/backend.h"
#include "tilewright/kernel.h"

namespace tilewright::target::llvm {

/// The kernel as an object file of the target.
Kernel emit_object(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                   const EmitOptions& options = {});
/// The same as assembler text, and as LLVM IR before or after the passes.
std::string emit_assembly(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                          const EmitOptions& options = {});
std::string emit_llvm_ir(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                         const EmitOptions& options = {}, bool optimized = true);
/// Links objects of one target into a shared library file. Throws Error when the linker is missing
/// or fails.
void link_shared_library(std::span<const Kernel> kernels, const std::string& path);

/// The same as the bytes of the file.
std::string link_shared_object(std::span<const Kernel> kernels);
/// Every ability of the machine that code for `spec` may rely on, by LLVM's names: "+avx2,+fma,…".
std::string feature_list(const ir::TargetSpec& spec);
/// What else than the function decides which code comes out: the version of LLVM, the CPU and its
/// abilities, by name even where the target only says "native".
std::string code_generator(const ir::TargetSpec& spec);

/// A kernel in this process's memory; its code goes away with the last copy.
class JitKernel {
 public:
  /// The code; call() is the comfortable way.
  tw_kernel function() const { return function_; }
  const Kernel& kernel() const { return *kernel_; }

  /// Runs on the given host. Its workspace and scratch are used where large enough, else some is
  /// allocated.
  void call(std::span<void* const> buffers, std::span<const int64_t> scalars, tw_host host) const;
  /// The same in the calling thread alone.
  void call(std::span<void* const> buffers, std::span<const int64_t> scalars = {}) const;

 private:
  friend JitKernel load(Kernel kernel, std::vector<ir::Var> symbols);
  tw_kernel function_ = nullptr;
  std::shared_ptr<const Kernel> kernel_;
  std::vector<ir::Var> symbols_;
  std::shared_ptr<const void> code_;
};

/// Loads an object made by emit_object for a target that this machine can run; `symbols` are the
/// function's.
JitKernel load(Kernel kernel, std::vector<ir::Var> symbols);

/// emit_object and load. Throws Error when this machine cannot run code for `spec`.
JitKernel compile(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                  const EmitOptions& options = {});

/// The hardware instructions that calls of declared instructions may name in `emit`, for
/// lower::Limits::instructions.
std::vector<std::string> instruction_names(const ir::TargetSpec& spec);

/// The contract of target/backend.h.
const Backend& backend();

}  // namespace tilewright::target::llvm
