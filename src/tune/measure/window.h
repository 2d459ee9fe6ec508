// SPDX-License-Identifier: Apache-2.0
// A part of a kernel's results that the interpreter can compute in a moment.
#pragma once

#include <optional>
#include <vector>

#include "tune/measure/task.h"

namespace tilewright::tune {

/// low <= i < high
struct IndexRange {
  int64_t low = 0, high = 0;
  int64_t size() const { return high - low; }
};

/// The function with its loops cut to what part of its results needs.
///   for y in 56, x in 56 { P[y, x] = … }  for y in 56, x in 56, k in 9 { C[y, x] sum= P[…] … }
///   ->  for y in 50..54, x in 52..56 { P }  for y in 52..54, x in 54..56, k in 9 { C }
struct Window {
  ir::LoopFunc func;
  std::vector<std::vector<IndexRange>> results;  // for each parameter from the first written one on
};

/// One with at most `points` instances of blocks, at the beginning of the results or at their end,
/// where tails are. Nothing when so few give no result, or when the function is more than blocks
/// that each write one buffer.
std::optional<Window> window_of(const Task& task, int64_t points, bool at_end);

}  // namespace tilewright::tune
