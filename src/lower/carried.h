// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/access.h"

namespace tilewright::lower {

/// Proves that what one iteration of `loop` reads from `buffer` was written in the same iteration,
/// so that each iteration may have a buffer of its own. The buffer is used inside the loop only,
/// and the program reads no element before it is written; `outside` is what holds around the loop.
/// Loops and lets in the body have variables of their own (with_unique_vars).
bool carries_nothing(const ir::For& loop, const ir::Buffer& buffer, const arith::Context& outside);

}  // namespace tilewright::lower
