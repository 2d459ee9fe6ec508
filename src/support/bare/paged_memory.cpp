// SPDX-License-Identifier: Apache-2.0
#include "support/bare/paged_memory.h"

namespace tilewright {

PagedMemory::PagedMemory(size_t bytes, bool large) {
  constexpr size_t kSmallPage = 4096;
  if (bytes == 0 || bytes > PTRDIFF_MAX - 2 * kLargePage) return;
  const size_t page = large ? kLargePage : kSmallPage;
  const size_t whole = (bytes + page - 1) / page * page;
  const size_t more = large ? kLargePage - kSmallPage : 0;  // to begin with a whole page
  void* data =
      mmap(nullptr, whole + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return;
  auto* first = static_cast<std::byte*>(data);
  const size_t before = (page - reinterpret_cast<uintptr_t>(data) % page) % page;
  if (before > 0) munmap(first, before);
  if (more > before) munmap(first + before + whole, more - before);
  mapped_ = {first + before, whole};
  bytes_ = mapped_.first(bytes);
  if (large) use_large_pages(mapped_.data(), static_cast<int64_t>(whole));
}

PagedMemory::~PagedMemory() {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
}

}  // namespace tilewright
