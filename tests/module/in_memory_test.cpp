// SPDX-License-Identifier: Apache-2.0
#include "module/in_memory.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "support/bare/large_pages.h"

namespace tilewright {
namespace {

bool begins_a_page(const ModuleMemory& memory, uintptr_t page) {
  return reinterpret_cast<uintptr_t>(memory.data()) % page == 0;
}

TEST(ModuleMemory, IsZeroAndBeginsAPage) {
  const ModuleMemory memory(5000);
  EXPECT_EQ(memory.size(), 5000u);
  EXPECT_TRUE(begins_a_page(memory, 4096));
  EXPECT_TRUE(std::ranges::all_of(memory.span(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(ModuleMemory, BeginsALargePageWhereItIsLarge) {
  for (int i = 0; i < 4; ++i) {
    const ModuleMemory some(4096), memory(2 * kLargePage + 12345);  // the system may align one
    EXPECT_EQ(memory.size(), 2u * kLargePage + 12345u);
    EXPECT_TRUE(begins_a_page(memory, kLargePage));
    memory.data()[memory.size() - 1] = std::byte{1};
  }
}

TEST(ModuleMemory, IsEmptyWhereThereIsNone) {
  EXPECT_EQ(ModuleMemory(0).size(), 0u);
  EXPECT_EQ(ModuleMemory(size_t{1} << 60).size(), 0u);
}

TEST(ModuleMemory, Moves) {
  ModuleMemory from(100);
  const std::byte* data = from.data();
  const ModuleMemory to = std::move(from);
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(to.size(), 100u);
}

}  // namespace
}  // namespace tilewright
