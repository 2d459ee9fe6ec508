// SPDX-License-Identifier: Apache-2.0
// Questions about loops that several steps ask.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/accesses.h"
#include "schedule/program.h"

namespace tilewright::schedule {

/// An Error unless the loop is serial: a kind once given is the last word on a loop.
void require_serial(const ir::For& loop, std::string_view step);

/// An Error when something below the loop synchronises: its statements belong together.
void require_no_sync(const ir::For& loop, std::string_view step);

/// The loops as a chain from outermost to innermost, each perfectly nested in the one before up to
/// loops that stand between them (which are part of the chain). An Error when they do not nest.
std::vector<const ir::For*> perfect_chain(const Program& program,
                                          const std::vector<const ir::For*>& loops,
                                          std::string_view step);

/// Gives the loop another kind, where such a loop may stand; its iterations are independent.
void set_kind(Program& program, const ir::For& loop, ir::ForKind kind, ir::ThreadAxis axis,
              std::string_view step);

/// What must hold of bound loops after every step: axes stand inside each other as the hardware has
/// them, each once on a path; what iterations have for themselves is allocated inside; and they do
/// not meet in what they share there.
void require_bound_loops_fit(const Program& program, std::string_view step);

/// Throws unless no conflict is left over; reductions count unless `allow_reductions`.
void require_independent(const Program& program, const ir::For& loop, bool allow_reductions,
                         std::string_view step);

}  // namespace tilewright::schedule
