// SPDX-License-Identifier: Apache-2.0
// A task's code, and what it takes to call it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "target/llvm/compile.h"
#include "tune/measure/arguments.h"
#include "tune/measure/build.h"
#include "tune/measure/far_memory.h"
#include "tune/measure/task.h"

namespace tilewright::tune {

/// One of the constants as code takes them.
struct PackedSize {
  ir::Elem elem;
  int64_t bytes;
};

/// What a candidate becomes. It holds bytes only: what code can be loaded from in any process.
struct NativeCode {
  target::Kernel run;
  std::optional<target::Kernel> prepare;  // for this machine
  std::vector<size_t> taken, prepared;    // as in LoweredKernel
  std::vector<PackedSize> packed;
  int64_t shared_bytes = 0, worker_bytes = 0;  // of its workspace, for the task's symbols
};
NativeCode build_native(const Task& task, const schedule::Trace& trace);

/// What `prepare` makes of the constants among the arguments, by number; run in this process.
std::vector<Memory> packed_constants(const NativeCode& code, const Arguments& arguments);

/// Code in this process, with several sets of arguments to call it on in turn: a model does not
/// call a kernel twice on the same data, and finds little of it in the nearest cache.
class LoadedCode {
 public:
  /// `buffers[s][i]` is parameter i of set s, `packed` what packed_constants gives; they stay where
  /// they are. Sets use `copies` of what is packed in turn; all but the first may be of the half of
  /// `far` that is for `kernel`, 0 or 1, if it is given.
  LoadedCode(const NativeCode& code, const Arguments& arguments, const std::vector<Memory>& packed,
             const std::vector<std::vector<void*>>& buffers, size_t copies, const Task& task,
             tw_host host, FarMemory* far, size_t kernel);
  void call(size_t set) const { function_(buffers_[set].data(), symbols_.data(), &host_); }

 private:
  target::llvm::JitKernel kernel_;
  tw_kernel function_;
  std::vector<std::vector<void*>> buffers_;  // in the order of the code's own parameters
  std::vector<Memory> memory_;
  std::vector<int64_t> symbols_;
  tw_host host_;
};

}  // namespace tilewright::tune
