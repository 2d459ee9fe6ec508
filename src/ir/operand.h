// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/buffer.h"

namespace tilewright::ir {

/// For each dimension of an instruction's operand that of the region handed to it: all in order,
/// but for some of extent 1. Nothing where they do not fit.
///   A[i, 0..16, k +: 4] as f32[16, 4]  ->  [1, 2]
std::optional<std::vector<size_t>> operand_dims(const Region& region, const BufferNode& operand);

/// The extents of the places that a buffer's elements lie in: its layout's, or its own.
std::vector<Expr> physical_extents(const BufferNode& buffer);

/// Are the elements of an operand with these strides one behind the other, in the order of its
/// physical places?
bool is_contiguous(const BufferNode& operand, const std::vector<Expr>& strides);

}  // namespace tilewright::ir
