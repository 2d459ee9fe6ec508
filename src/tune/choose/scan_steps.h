// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "ir/target_spec.h"

namespace tilewright::tune {

/// Schedules what one step of each scan does, as a function of its own that knows the step as a
/// symbol; the loop over the steps stays around it. Copies of constants move out of the loop, and
/// what only one step uses loses its dimension of time.
///   for t { for r, k { block s(t: ordered, r, k) s[t, r] sum= h[t - 1, k] * R[r, k] } … }
///   ->  for … { R_global[r / 32, k, r % 32] = R[r, k] }
///       for t { parallel for r / 32 { … R_global … } … }
ir::LoopFunc with_scheduled_steps(const ir::LoopFunc& func, const ir::TargetSpec& spec,
                                  const std::vector<std::string>& constants);

}  // namespace tilewright::tune
