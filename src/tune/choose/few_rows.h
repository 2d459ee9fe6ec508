// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/func.h"

namespace tilewright::tune {

/// The symbols that alone tell how many rows products of the function have, where these have much
/// to multiply each row with. A tile of several rows does the work of all of them for one, too: for
/// one row such a function deserves a schedule of its own.
///   C[i in m, j in 1000] = sum(k in 64) A[i, k] * B[k, j]   ->   m
/// Rows that several symbols count, as those of images, are many.
std::vector<ir::Var> row_symbols(const ir::LoopFunc& func);

}  // namespace tilewright::tune
