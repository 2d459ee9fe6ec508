// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "schedule/schedule.h"

namespace bench {

/// Schedules the copy from lanes of channels to rows of pixels, whose last loops are blocks of
/// channels, the channels of one, and `pixels`: pixels become lanes and the channels of a block are
/// unrolled, so that their loads are a transposition.
void schedule_turn(tilewright::schedule::Schedule& s, const tilewright::schedule::BlockRef& out,
                   int64_t pixels, int64_t lanes);

}  // namespace bench
