// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "support/bare/large_pages.h"

namespace tilewright {

/// Whole pages from the system that nobody has used before, zero at first; large ones where it is
/// large.
class PagedMemory {
 public:
  PagedMemory() = default;
  /// Empty when there is no memory for it.
  explicit PagedMemory(size_t bytes)
      : PagedMemory(bytes, on_large_pages(static_cast<int64_t>(bytes))) {}
  PagedMemory(size_t bytes, bool large);
  PagedMemory(PagedMemory&& other) noexcept { swap(other); }
  PagedMemory& operator=(PagedMemory&& other) noexcept {
    PagedMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~PagedMemory();

  std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> span() const { return bytes_; }

 private:
  void swap(PagedMemory& other) {
    std::swap(mapped_, other.mapped_);
    std::swap(bytes_, other.bytes_);
  }

  std::span<std::byte> mapped_, bytes_;  // what the system gave, and the part that was asked for
};

}  // namespace tilewright
