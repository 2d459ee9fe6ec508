// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "support/function_ref.h"

namespace tilewright {

/// Calls work(0) … work(count - 1), each once, on as many threads as are asked for, the caller's
/// included; rethrows what the first to fail threw.
void in_parallel(size_t count, int threads, FunctionRef<void(size_t)> work);

}  // namespace tilewright
