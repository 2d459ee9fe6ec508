// SPDX-License-Identifier: Apache-2.0
#include "support/bare/paged_memory.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace tilewright {
namespace {

bool begins_a_page(const PagedMemory& memory, uintptr_t page) {
  return reinterpret_cast<uintptr_t>(memory.data()) % page == 0;
}

TEST(PagedMemory, IsZeroAndBeginsAPage) {
  const PagedMemory memory(5000);
  EXPECT_EQ(memory.size(), 5000u);
  EXPECT_TRUE(begins_a_page(memory, 4096));
  EXPECT_TRUE(std::ranges::all_of(memory.span(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(PagedMemory, BeginsALargePageWhereItIsLarge) {
  std::vector<PagedMemory> all;  // the system may align one by chance
  for (size_t i = 0; i < 8; ++i) {
    all.emplace_back(4096);
    const PagedMemory& memory = all.emplace_back(2 * kLargePage + 12345 * i);
    EXPECT_EQ(memory.size(), 2u * kLargePage + 12345u * i);
    EXPECT_TRUE(begins_a_page(memory, kLargePage));
    memory.data()[0] = memory.data()[memory.size() - 1] = std::byte{1};
  }
  EXPECT_TRUE(begins_a_page(PagedMemory(100, true), kLargePage)) << "asked for";
}

TEST(PagedMemory, IsEmptyWhereThereIsNone) {
  EXPECT_EQ(PagedMemory(0).size(), 0u);
  EXPECT_EQ(PagedMemory(size_t{1} << 60).size(), 0u);
  EXPECT_EQ(PagedMemory(SIZE_MAX).size(), 0u);
}

TEST(PagedMemory, Moves) {
  PagedMemory from(100), other(200);
  const std::byte* data = from.data();
  PagedMemory to = std::move(from);
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(from.size(), 0u);
  to = std::move(other);
  EXPECT_EQ(to.size(), 200u);
  EXPECT_EQ(other.size(), 0u);
}

}  // namespace
}  // namespace tilewright
