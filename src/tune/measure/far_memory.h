// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tune/measure/arguments.h"

namespace tilewright::tune {

/// Floats that stand for the constants of a model's other kernels: a kernel that is called on one
/// part after the other finds its constants as far away as in the model. Values do not matter for
/// time, so that all trials read the same, which is made once and never copied.
class FarMemory {
 public:
  explicit FarMemory(int64_t bytes);
  int64_t size() const { return memory_.size(); }
  /// The next bytes, from the beginning again after the last; null when there are not so many.
  void* take(int64_t bytes);

 private:
  Memory memory_;
  int64_t next_ = 0;
};

/// What two kernels in turn must read, together, so that each finds its constants where it does in
/// the model; 0 where they stay in the second cache.
int64_t far_bytes(const Task& task);

}  // namespace tilewright::tune
