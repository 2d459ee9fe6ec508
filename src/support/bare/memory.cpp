// SPDX-License-Identifier: Apache-2.0
#include "support/bare/memory.h"

#include <cstdlib>

namespace tilewright {

Allocator system_allocator() {
  return {nullptr,
          [](void*, size_t bytes, size_t alignment) -> void* {
            void* p = nullptr;
            return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
          },
          [](void*, void* memory, size_t) { std::free(memory); }};
}

}  // namespace tilewright
