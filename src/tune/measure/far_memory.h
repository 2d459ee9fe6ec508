// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "tune/measure/arguments.h"

namespace tilewright::tune {

/// Floats that stand for the constants of a model's other kernels: a kernel that is called on one
/// part after the other finds its constants as far away as in the model. Values do not matter for
/// time, so that all trials read the same, which is made once and never copied.
class FarMemory {
 public:
  explicit FarMemory(int64_t bytes);
  int64_t size() const { return memory_.size(); }
  /// The next bytes for one of two kernels, of its half, from the beginning again after the last;
  /// null when there are not so many. What one reads, the other does not.
  void* take(int64_t bytes, size_t kernel);

 private:
  Memory memory_;
  std::array<int64_t, 2> next_{};  // in each half
};

/// What two kernels in turn must read, together, so that each finds its constants where it does in
/// the model; 0 where they stay in the second cache.
int64_t far_bytes(const Task& task);

}  // namespace tilewright::tune
