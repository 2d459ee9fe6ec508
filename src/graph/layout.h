// SPDX-License-Identifier: Apache-2.0
// Channels in blocks: f32[1, 64, 56, 56] whose dimension 1 lies in memory in pieces of 8,
//   (n, c, y, x) -> [n, c / 8, y, x, c % 8]
#pragma once

#include "graph/type.h"

namespace tilewright::graph {

/// The layout of a tensor of that shape with its channels in blocks of `size`, which divides them.
ir::Layout channel_blocks(const Shape& shape, int64_t size);

/// The size of the tensor's blocks of channels; 0 when it is row-major.
int64_t channel_block(const TensorType& type);

}  // namespace tilewright::graph
