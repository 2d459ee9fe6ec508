// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/func.h"

namespace tilewright::tune {

/// The same function with fewer dimensions: those of extent 1 are left out, and neighbours that
/// every access runs through as one become one. Parameters keep their order and their bytes; only
/// their shapes change, which kernels do not see.
///   Y[n in 1, c in 64, y in 56, x in 56] = max(X[n, c, y, x] + b[c], 0.0)
///   ->  Y[c in 64, yx in 3136] = max(X[c, yx] + b[c], 0.0)
/// Before that, reductions begin by themselves (`with_inits_inside`), and stages that move elements
/// are cut up (`in_digits`, `in_pieces`). Schedules are chosen for this form. What scans and opaque
/// blocks touch stays as it is.
ir::LoopFunc canonical(const ir::LoopFunc& blocks);

}  // namespace tilewright::tune
