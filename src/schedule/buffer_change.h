// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "schedule/program.h"
#include "support/function_ref.h"

namespace tilewright::schedule {

/// How a buffer is replaced by one with other indices.
struct BufferChange {
  ir::Buffer old, now;
  FunctionRef<std::vector<ir::Expr>(const std::vector<ir::Expr>&)> index;
  FunctionRef<std::vector<ir::Range>(const std::vector<ir::Range>&)> ranges;
};

/// `body` with every access and declared region changed, and the allocation too. Null when a
/// statement mentions the buffer that has no indices to change: an instruction call, an atomic.
ir::Stmt with_change(const ir::Stmt& body, const BufferChange& change);

/// The buffer of that name that the block touches, results first; null when there is none.
ir::Buffer buffer_of(const ir::Block& block, const std::string& name);

}  // namespace tilewright::schedule
