// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tune/choose/stage.h"

namespace tilewright::tune {

/// By how many elements an access moves when `var` grows by one, with numbers for symbols; nothing
/// when it does not move evenly.
std::optional<int64_t> stride(const ir::Buffer& buffer, const std::vector<ir::Expr>& indices,
                              const ir::Var& var, const Sizes& sizes);

/// Number of the iterator whose neighbours lie best in memory for vectors: contiguous or the same
/// for as many accesses as can be. The last one of equals.
size_t best_lane_iter(const Stage& stage, const Sizes& sizes);

/// How many of the last iterators run through every access of the stage as one: each access uses
/// none of them, or all as its last indices, over whole dimensions. At least 1.
size_t collapsible(const Stage& stage);

}  // namespace tilewright::tune
