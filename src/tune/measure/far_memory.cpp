// SPDX-License-Identifier: Apache-2.0
#include "tune/measure/far_memory.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ir/interpret/random.h"

namespace tilewright::tune {
namespace {

constexpr int64_t kPattern = 1 << 20;  // bytes, again and again
constexpr int64_t kAlignment = 64;

}  // namespace

FarMemory::FarMemory(int64_t bytes) : memory_(bytes, Memory::pages_of(bytes)) {
  ir::Random random(1);
  std::vector<float> pattern(kPattern / sizeof(float));
  for (float& value : pattern) value = static_cast<float>(0.5 + random.unit() / 2);
  for (int64_t at = 0; at < bytes; at += kPattern)
    std::memcpy(memory_.data() + at, pattern.data(),
                static_cast<size_t>(std::min(kPattern, bytes - at)));
}

void* FarMemory::take(int64_t bytes, size_t kernel) {
  const int64_t half = size() / 2 / kAlignment * kAlignment;
  if (bytes > half) return nullptr;
  int64_t& next = next_.at(kernel);
  if (next + bytes > half) next = 0;
  void* out = memory_.data() + static_cast<int64_t>(kernel) * half + next;
  next += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return out;
}

int64_t far_bytes(const Task& task) {
  const int64_t second = task.target.l2_bytes,
                last = std::max(task.target.l3_bytes, 4 * second);  // there may be no third
  if (task.between <= second) return 0;
  // The last cache keeps a part of what is up to half as much again: it is not first in, first out.
  const int64_t more = last / 2 * 3;
  return task.between > more ? more : std::min(task.between, 4 * second);
}

}  // namespace tilewright::tune
