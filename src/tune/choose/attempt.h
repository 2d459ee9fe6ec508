// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/schedule.h"
#include "support/function_ref.h"

namespace tilewright::tune {

/// Runs steps on `s`. When one is refused the schedule is as it was before all of them.
bool attempt(schedule::Schedule& s, FunctionRef<void()> steps);

}  // namespace tilewright::tune
