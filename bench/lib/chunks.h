// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ir/func.h"

namespace bench {

/// A part of a kernel that is called `count` times, with 0 … count − 1 as its last scalar.
struct Chunk {
  tilewright::ir::LoopFunc func;
  int64_t count;
};

/// A scheduled function cut along its outermost loops into at most `pieces` calls for each, so that
/// one fits between two canaries. What it allocates around those loops becomes parameters after its
/// own. All calls in order do what the function does.
std::vector<Chunk> cut_into_chunks(const tilewright::ir::LoopFunc& func, int64_t pieces);

}  // namespace bench
