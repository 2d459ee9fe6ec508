// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/schedule.h"
#include "tune/choose/choices.h"

namespace tilewright::tune {

/// Taps of a window that are all unrolled.
constexpr int64_t kUnrolledTaps = 25;

/// Puts stages that compute each element by itself into the stages that read them, unless that
/// repeats more work than keeping the result costs.
///   B[i] = A[i] * 2   C[i] = exp(B[i])   D[i] = C[i] / S[]   ->   D[i] = exp(A[i] * 2) / S[]
/// Stays: exp that two stages read, what one of two compares for equality, padding that a large
/// window, or one whose lanes it cuts, reads, and weights in another order, which are constants
/// that cost the run nothing.
void inline_stages(schedule::Schedule& s, const std::vector<std::string>& constants,
                   Choices& choices);

}  // namespace tilewright::tune
