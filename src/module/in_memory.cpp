// SPDX-License-Identifier: Apache-2.0
#include "module/in_memory.h"

#include <cstdint>
#include <sys/mman.h>

#include "support/bare/large_pages.h"

namespace tilewright {

ModuleMemory::ModuleMemory(size_t bytes) {
  if (bytes == 0) return;
  const bool large = on_large_pages(static_cast<int64_t>(bytes));
  const size_t all = bytes + (large ? kLargePage : 0);  // to begin with a whole one
  void* data = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return;
  mapped_ = {static_cast<std::byte*>(data), all};
  const size_t before =
      large ? (kLargePage - reinterpret_cast<uintptr_t>(data) % kLargePage) % kLargePage : 0;
  bytes_ = mapped_.subspan(before, bytes);
  if (large) use_large_pages(bytes_.data(), static_cast<int64_t>(bytes));
}

ModuleMemory::~ModuleMemory() {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
}

}  // namespace tilewright
