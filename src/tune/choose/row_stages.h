// SPDX-License-Identifier: Apache-2.0
// Stages that work on the same rows, some rows at a time: what rows.cpp and chain.cpp share.
#pragma once

#include <optional>

#include "schedule/schedule.h"
#include "tune/choose/stage.h"

namespace tilewright::tune {

/// Rows at a time, so that their chains of dependent operations alternate.
inline constexpr int64_t kRowsAtOnce = 4;

/// The stages before `last` that only lead to it, in program order; products are left out.
std::vector<Stage> leading_to(const std::vector<Stage>& stages, const Stage& last,
                              const ir::LoopFunc& func);

/// How many of the first iterators are rows for all stages of the group, when each works along its
/// rows and one of them reduces them; nothing otherwise.
std::optional<size_t> rows_of(const std::vector<Stage>& group, const Stage& last,
                              const Sizes& sizes);

/// Vectors along the rows of stages that run inside of a loop over some rows, `outside` loops deep.
void schedule_row_stages(schedule::Schedule& s, const std::vector<Stage>& group, const Stage& last,
                         size_t outside, size_t rows, int64_t lanes);

}  // namespace tilewright::tune
