// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <vector>

namespace tilewright::driver {

/// Memory aligned as kernels expect it, zero at first. Constants of a mapped file may lie anywhere.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t bytes)
      : size_(static_cast<size_t>(bytes)), storage_(size_ / sizeof(Line) + 1) {}
  explicit AlignedBytes(std::span<const std::byte> content)
      : AlignedBytes(static_cast<int64_t>(content.size())) {
    if (size_ > 0) std::memcpy(data(), content.data(), size_);
  }
  std::byte* data() { return storage_[0].bytes; }
  size_t size() const { return size_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  size_t size_;
  std::vector<Line> storage_;
};

}  // namespace tilewright::driver
