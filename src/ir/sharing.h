// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/buffer.h"
#include "ir/stmt.h"

namespace tilewright::ir {

/// Does each iteration of the loop have an instance of its own of a buffer that is allocated inside
/// of it? Where hardware runs the iterations, the buffer's scope decides (README.md).
bool is_own(const BufferNode& buffer, const For& loop);

}  // namespace tilewright::ir
