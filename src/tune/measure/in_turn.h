// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/function_ref.h"
#include "tune/measure/runner.h"

namespace tilewright::tune {

/// Seconds of one of so many calls in a row.
using CallsInARow = FunctionRef<double(int)>;

/// Calls both in turn, so that what disturbs one disturbs the other, as often in a row, for about
/// so many seconds or repeats, whichever ends first. Most candidates are slower: one that is so in
/// each of the first pairs ends there, one that may be the faster one goes on four times as long.
Measurement in_turn(CallsInARow candidate, CallsInARow reference, double seconds, int repeats);

}  // namespace tilewright::tune
