// SPDX-License-Identifier: Apache-2.0
// The passes, each in the file of its name, which states what it needs and leaves.
#pragma once

#include "lower/pipeline.h"

namespace tilewright::lower {

ir::LoopFunc lower_instructions(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc lower_blocks(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc simplify(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc compact_storage(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc lower_vthread(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc insert_barriers(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc partition(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc vectorize(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc scale_sums(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc unroll(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc lower_updates(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc flatten(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc hoist_invariants(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc eliminate_common_subexpressions(const ir::LoopFunc& func, PassContext& context);
ir::LoopFunc remove_dead(const ir::LoopFunc& func, PassContext& context);

/// Throws a Diagnostic when the function still holds what `earlier` removes: a user ran the passes
/// in another order, or skipped one.
void require_no_blocks(const ir::LoopFunc& func, std::string_view pass);
void require_no_updates(const ir::LoopFunc& func, std::string_view pass);
void require_no_loops(const ir::LoopFunc& func, ir::ForKind kind, std::string_view pass,
                      std::string_view earlier);

}  // namespace tilewright::lower
