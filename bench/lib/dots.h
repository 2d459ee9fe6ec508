// SPDX-License-Identifier: Apache-2.0
// GEMMs whose inner loops are dot instructions, scheduled by steps up to tensorize.
#pragma once

#include <cstdint>
#include <string>

#include "driver/kernel.h"
#include "schedule/schedule.h"

namespace bench {

struct DotTile {
  int64_t rows = 12;    // of the accumulators
  int64_t vectors = 2;  // columns of accumulators, in vectors
  int64_t lanes = 16;
  int64_t unroll = 4;  // of k, in groups of four
  std::string instruction;
};

/// C[m, n] i32 = A[m, k] u8 · B i8, B packed as [n / lanes, k / 4, lanes, 4].
tilewright::schedule::Schedule schedule_bytes(int64_t m, int64_t n, int64_t k, const DotTile& tile,
                                              const tilewright::ir::TargetSpec& spec);

/// C[m, n] i32 = A · B with A of 2 bits as planes [2, m, k / 8] and B of 1 bit as
/// [n / lanes, k / 32, lanes, 4], both u8.
tilewright::schedule::Schedule schedule_bits(int64_t m, int64_t n, int64_t k, const DotTile& tile,
                                             const tilewright::ir::TargetSpec& spec);

/// Multiply-adds of bytes per iteration of a loop of VNNI instructions on registers only.
constexpr double kVnniLoopWork = 12.0 * 64;
void vnni_loop(int64_t iterations);

}  // namespace bench
