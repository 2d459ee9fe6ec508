// SPDX-License-Identifier: Apache-2.0
// A module in memory, where the runtime uses it in place.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "module/module.h"

namespace tilewright {

/// Memory of whole pages, large ones where it is large: every run of a model reads its weights, and
/// where those lie on many small pages, finding them takes a part of the time.
class ModuleMemory {
 public:
  ModuleMemory() = default;
  /// Zero at first; empty when there is no memory for it.
  explicit ModuleMemory(size_t bytes);
  ModuleMemory(ModuleMemory&& other) noexcept { swap(other); }
  ModuleMemory& operator=(ModuleMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ModuleMemory();

  std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> span() const { return bytes_; }

 private:
  void swap(ModuleMemory& other) {
    std::swap(mapped_, other.mapped_);
    std::swap(bytes_, other.bytes_);
  }

  std::span<std::byte> mapped_, bytes_;  // what the system gave, and the part that is used
};

/// The bytes of the module's file; empty when there is no memory for them.
ModuleMemory module_in_memory(const Module& module);

}  // namespace tilewright
