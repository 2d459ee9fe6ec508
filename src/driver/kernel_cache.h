// SPDX-License-Identifier: Apache-2.0
// Compiled kernels of earlier runs. A key is all that a kernel's code follows from: its blocks as
// text, the target, the options, this compiler and its code generator.
#pragma once

#include <optional>
#include <string>

#include "driver/ready_kernel.h"
#include "support/disk_cache.h"

namespace tilewright::driver {

class KernelCache {
 public:
  static constexpr int64_t kLimit = int64_t{1} << 30;

  explicit KernelCache(std::filesystem::path folder = default_folder(), int64_t limit = kLimit);

  /// $TILEWRIGHT_CACHE, or tilewright/ in $XDG_CACHE_HOME, or in ~/.cache; empty without a home.
  static std::filesystem::path default_folder();

  const DiskCache& files() const { return files_; }

  /// The kernel of a key, without a name and without the body of its function.
  std::optional<ReadyKernel> find(const std::string& key) const;
  void put(const std::string& key, const ReadyKernel& kernel) const;

  /// Code without symbols for this process.
  std::optional<target::llvm::JitKernel> find_jit(const std::string& key) const;
  void put_jit(const std::string& key, const target::llvm::JitKernel& kernel) const;

 private:
  DiskCache files_;
};

/// The part of a key that all kernels of a compilation share. Empty where the compiler has no stamp
/// of its build: then nothing may be kept.
std::string key_prefix(const ir::TargetSpec& target, const target::EmitOptions& emit);

}  // namespace tilewright::driver
