// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>
#include <span>

#include "driver/kernel.h"
#include "ir/build.h"
#include "runtime/thread_pool.h"

namespace bench {

/// Aligned memory that is given back.
using Memory = std::unique_ptr<void, decltype(&std::free)>;
inline Memory memory(int64_t bytes) {
  return {std::aligned_alloc(4096, static_cast<size_t>(bytes / 4096 + 1) * 4096), std::free};
}

/// A kernel of constant shapes with all that it needs at hand: its workspace is not allocated anew
/// by each call. Without a pool it runs in the calling thread.
class ReadyKernel {
 public:
  explicit ReadyKernel(tilewright::target::llvm::JitKernel kernel,
                       tilewright::runtime::ThreadPool* pool = nullptr)
      : kernel_(std::move(kernel)) {
    const auto bytes = [](const tilewright::ir::Expr& e) {
      return tilewright::ir::const_int(e).value();
    };
    if (pool)
      host_ = pool->host();
    else
      host_ = {.parallel_for = tw_serial_for, .workers = 1};
    const auto& needs = kernel_.kernel().workspace;
    host_.scratch_bytes = bytes(needs.per_worker);
    workspace_ = memory(bytes(needs.shared));
    scratch_ = memory(host_.scratch_bytes * host_.workers);
    host_.workspace = workspace_.get();
    host_.scratch = scratch_.get();
  }

  void call(std::span<void* const> buffers) const {
    kernel_.function()(buffers.data(), nullptr, &host_);
  }

 private:
  tilewright::target::llvm::JitKernel kernel_;
  tw_host host_{};
  Memory workspace_{nullptr, std::free}, scratch_{nullptr, std::free};
};

}  // namespace bench
