// SPDX-License-Identifier: Apache-2.0
// C = A · B with B in panels, scheduled by steps: the micro-kernel is made by the schedule, nothing
// of it is written by hand.
#pragma once

#include <cstdint>
#include <string>

#include "driver/kernel.h"
#include "schedule/schedule.h"

namespace bench {

struct GemmTile {
  int64_t rows = 14;    // of the register tile
  int64_t vectors = 2;  // columns of the tile, in vectors
  int64_t unroll = 4;   // of k
  bool parallel = false;
};

/// A[m, k] row-major, B[n / cols, k, cols] in panels, C[m, n] row-major.
tilewright::schedule::Schedule schedule_gemm(int64_t m, int64_t n, int64_t k, const GemmTile& tile,
                                             const tilewright::ir::TargetSpec& spec);

}  // namespace bench
