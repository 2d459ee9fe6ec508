// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "arith/context.h"
#include "ir/stmt.h"

namespace tilewright::lower {

/// How many iterations of a loop with constant bounds do anything: behind them every statement
/// stands under a condition that is false.
///   for t in 0..9 { for r in 0..14 { if 504 + t*14 + r < 508 { … } } }   ->   1
int64_t needed_iterations(const ir::For& loop, int64_t extent, const arith::Context& outside);

}  // namespace tilewright::lower
