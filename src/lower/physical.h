// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/buffer.h"

namespace tilewright::lower {

/// Where an element of the buffer lies: its layout at these indices (scalars or lanes), or the
/// indices themselves without one.
std::vector<ir::Expr> physical_indices(const ir::BufferNode& buffer,
                                       const std::vector<ir::Expr>& indices, int64_t replica = 0);

/// start + Σ index · stride
ir::Expr strided(const ir::Expr& start, const std::vector<ir::Expr>& indices,
                 const std::vector<ir::Expr>& strides);

}  // namespace tilewright::lower
