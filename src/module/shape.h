// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "module/elem.h"

namespace tilewright {

/// Bytes of a compact tensor; −1 when a dimension is negative or the size is beyond 2^62.
inline int64_t tensor_bytes(ElemType elem, std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false, too_large = false;
  for (const int64_t d : dims) {
    if (d < 0) return -1;
    empty = empty || d == 0;
    too_large = too_large || __builtin_mul_overflow(count, d == 0 ? 1 : d, &count);
  }
  if (empty) return 0;
  int64_t bits = 0;
  if (too_large || __builtin_mul_overflow(count, bits_of(elem), &bits) || bits > INT64_MAX - 7)
    return -1;
  return (bits + 7) / 8;
}

}  // namespace tilewright
