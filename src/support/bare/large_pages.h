// SPDX-License-Identifier: Apache-2.0
// Large memory on large pages: fewer misses of the address cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace tilewright {

constexpr int64_t kLargePage = 2 << 20;
constexpr bool on_large_pages(int64_t bytes) { return bytes >= 2 * kLargePage; }

/// `data` is a multiple of a large page. Where the system has none, small ones serve.
inline void use_large_pages(void* data, int64_t bytes) {
  madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
}

}  // namespace tilewright
