// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/trial.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tune/measure/tasks.h"

namespace tilewright::tune {
namespace {

/// The product of 48 x 64 and 64 x 80 on a machine with small caches, in a model whose constants
/// are so many bytes.
Task task_in(int64_t constants) {
  Task task = *product_task();
  task.target.l2_bytes = 16 << 10;
  task.target.l3_bytes = 64 << 10;
  task.between = constants;
  return task;
}

/// How many places a parameter has in all sets.
size_t places(const ArgumentSets& sets, size_t param) {
  std::set<void*> out;
  for (const auto& set : sets.buffers()) out.insert(set[param]);
  return out.size();
}

TEST(ArgumentSets, ConstantsComeFromAsFarAsInTheModel) {
  const Task near = task_in(40 << 10), far = task_in(1 << 20);
  Arguments arguments(near);
  arguments.fill(1);
  // 12 KiB and 15 KiB are read and written: two sets for each of two kernels are more than four
  // times the second cache.
  const ArgumentSets few(arguments, near, {{{0, 1}, {0, 1}}}, nullptr);
  EXPECT_EQ(few.copies_of_constants(), 1u);
  EXPECT_EQ(few.count(), 2u);
  EXPECT_EQ(places(few, 0), 4u);
  EXPECT_EQ(places(few, 1), 2u);
  EXPECT_EQ(places(few, 2), 4u);
  // Three times 20 KiB for each of two kernels are half as much again as the third cache.
  const ArgumentSets many(arguments, far, {{{0, 1}, {0, 1}}}, nullptr);
  EXPECT_EQ(many.copies_of_constants(), 3u);
  EXPECT_EQ(places(many, 1), 6u);
  const ArgumentSets packed(arguments, far, {{{0}, {0}}}, nullptr);
  EXPECT_EQ(packed.copies_of_constants(), 3u);
  EXPECT_EQ(packed.buffers()[0][1], nullptr) << "nobody reads it as it is";
}

TEST(FarBytes, AreAsManyAsTheModelsConstantsNeed) {
  EXPECT_EQ(far_bytes(task_in(16 << 10)), 0) << "they stay in the second cache";
  EXPECT_EQ(far_bytes(task_in(20 << 10)), 20 << 10);
  EXPECT_EQ(far_bytes(task_in(90 << 10)), 64 << 10)
      << "what the second does not hold, the third does";
  EXPECT_EQ(far_bytes(task_in(100 << 10)), 96 << 10) << "more than the third holds";
}

TEST(ArgumentSets, TakeCopiesOfFloatsFromAfar) {
  const Task task = task_in(1 << 20);
  Arguments arguments(task);
  arguments.fill(1);
  FarMemory far(far_bytes(task));
  const ArgumentSets sets(arguments, task, {{{0, 1}, {0, 1}}}, &far);
  EXPECT_EQ(std::memcmp(sets.buffers()[0][1], arguments.content(1).data(),
                        static_cast<size_t>(arguments.bytes(1))),
            0)
      << "results of it are compared";
  for (size_t s = 1; s < sets.copies_of_constants(); ++s) {
    const auto* values = static_cast<const float*>(sets.buffers()[s][1]);
    for (int64_t i = 0; i < arguments.elements(1); ++i) {
      ASSERT_GE(values[i], 0.5f);
      ASSERT_LE(values[i], 1.0f);
    }
  }
  EXPECT_EQ(places(sets, 0), 4u) << "what is read and written is copied";
  EXPECT_GT(sets.count(), 1u);
  EXPECT_EQ(places(sets, 1), 2 * sets.copies_of_constants()) << "no part is for both";
}

TEST(FarMemory, GivesEachKernelPartsOfItsHalf) {
  FarMemory far(4096 + 100);
  const auto* first = static_cast<std::byte*>(far.take(100, 0));
  const auto* second = static_cast<std::byte*>(far.take(100, 1));
  EXPECT_EQ(second - first, 2048 + 0) << "the halves are of whole lines";
  EXPECT_EQ(static_cast<std::byte*>(far.take(64, 0)) - first, 128) << "parts are aligned";
  EXPECT_EQ(far.take(1900, 0), first) << "from the beginning when the half ends";
  EXPECT_EQ(far.take(2049, 0), nullptr);
}

TEST(ArgumentSets, WhatFitsTheSecondCacheStaysThere) {
  Task task = task_in(1 << 20);
  task.target.l2_bytes = 64 << 10;  // for both of a pair
  Arguments arguments(task);
  arguments.fill(1);
  const ArgumentSets sets(arguments, task, {{{0, 1}, {0, 1}}}, nullptr);
  EXPECT_EQ(sets.count(), sets.copies_of_constants());
  EXPECT_EQ(places(sets, 0), 2u);
  EXPECT_EQ(places(sets, 1), 2 * sets.count());
  for (size_t s = 0; s < 2 * sets.count(); ++s) {
    ASSERT_EQ(sets.near(s).size(), 1u) << "what is read, not the constant";
    EXPECT_EQ(static_cast<const void*>(sets.near(s)[0].data()), sets.buffers()[s][0]);
  }
  task.target.l2_bytes = 16 << 10;
  const ArgumentSets more(arguments, task, {{{0, 1}, {0, 1}}}, nullptr);
  EXPECT_TRUE(more.near(0).empty());
}

TEST(ArgumentSets, LieInOneMemoryWhereTheModelsValuesHaveLargePages) {
  Task task = task_in(1 << 20);
  task.arena = 5 << 20;
  Arguments arguments(task);
  arguments.fill(1);
  const ArgumentSets sets(arguments, task, {{{0, 1}, {0, 1}}}, nullptr);
  const auto at = [&](size_t set, size_t i) {
    return reinterpret_cast<uintptr_t>(sets.buffers()[set][i]);
  };
  const size_t other = sets.count();     // the first of the other kernel
  std::map<uintptr_t, uintptr_t> parts;  // begin, end
  for (const size_t kernel : {size_t{0}, other}) {
    EXPECT_EQ(at(kernel, 0) % (2 << 20), 0u);
    for (size_t s = 0; s < sets.count(); ++s)
      for (const size_t i : {size_t{0}, size_t{2}}) {
        EXPECT_EQ(at(kernel + s, i) % 64, 0u);
        EXPECT_EQ(at(kernel + s, i) >> 21, at(kernel, 0) >> 21) << "it is less than a large page";
        EXPECT_EQ(at(kernel + s, i) - at(kernel, 0), at(s, i) - at(0, 0)) << "both lie alike";
        parts[at(kernel + s, i)] = at(kernel + s, i) + static_cast<uintptr_t>(arguments.bytes(i));
      }
  }
  EXPECT_EQ(parts.size(), 8u);
  uintptr_t end = 0;
  for (const auto& [first, last] : parts) {
    EXPECT_LE(end, first) << "they lie apart";
    end = last;
  }
}

TEST(ArgumentSets, TheTwoKernelsShareNothingThatIsCopied) {
  const Task task = task_in(1 << 20);
  Arguments arguments(task);
  arguments.fill(1);
  const ArgumentSets sets(arguments, task, {{{0, 1}, {0, 1}}}, nullptr);
  for (size_t i = 0; i < arguments.count(); ++i) {
    std::set<void*> first, second;
    for (size_t s = 0; s < sets.count(); ++s) {
      first.insert(sets.buffers()[s][i]);
      second.insert(sets.buffers()[sets.count() + s][i]);
    }
    for (void* p : first) EXPECT_EQ(second.count(p), 0u) << i;
  }
}

TEST(ArgumentSets, AllHoldTheSame) {
  const Task task = task_in(1 << 20);
  Arguments arguments(task);
  arguments.fill(1);
  const ArgumentSets sets(arguments, task, {{{0, 1}, {0, 1}}}, nullptr);
  for (const auto& set : sets.buffers())
    for (size_t i = 0; i < arguments.inputs(); ++i)
      EXPECT_EQ(
          std::memcmp(set[i], arguments.content(i).data(), static_cast<size_t>(arguments.bytes(i))),
          0);
}

}  // namespace
}  // namespace tilewright::tune
