// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace tilewright::driver {

/// Memory aligned as kernels expect it, zero at first. Constants of a mapped file may lie anywhere.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t bytes) : size_(static_cast<size_t>(bytes)) {
    // The system's fresh pages are zero already, which calloc knows.
    storage_.reset(std::calloc(1, size_ + kAlignment));
    if (!storage_) throw std::bad_alloc();
  }
  explicit AlignedBytes(std::span<const std::byte> content)
      : AlignedBytes(static_cast<int64_t>(content.size())) {
    if (size_ > 0) std::memcpy(data(), content.data(), size_);
  }
  std::byte* data() {
    const auto address = reinterpret_cast<uintptr_t>(storage_.get());
    return reinterpret_cast<std::byte*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  size_t size_;
  std::unique_ptr<void, Free> storage_;
};

}  // namespace tilewright::driver
