// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/stmt.h"

namespace tilewright::lower {

/// Gives each loop and let a variable of its own: copies of a body, as unrolling and partitioning
/// make them, share theirs.
ir::Stmt with_unique_vars(const ir::Stmt& s);

}  // namespace tilewright::lower
