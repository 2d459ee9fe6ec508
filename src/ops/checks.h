// SPDX-License-Identifier: Apache-2.0
// What many operators ask of their inputs, refused in the user's words.
#pragma once

#include <string_view>
#include <vector>

#include "graph/call.h"

namespace tilewright::ops {

/// Input i holds floats.
void need_float(const graph::Call& call, size_t i);
/// Input i holds numbers: floats or integers.
void need_number(const graph::Call& call, size_t i);
/// Input i holds integers.
void need_int(const graph::Call& call, size_t i);
/// Inputs i and j have the same element type.
void need_same_elem(const graph::Call& call, size_t i, size_t j);
/// Input i has this rank; at least this rank.
void need_rank(const graph::Call& call, size_t i, int rank);
void need_min_rank(const graph::Call& call, size_t i, int rank);
/// An attribute with one value for each of `count` dimensions.
void need_count(const graph::Call& call, std::string_view attribute,
                const std::vector<int64_t>& values, size_t count);
/// Every value of the attribute is at least `min`.
void need_at_least(const graph::Call& call, std::string_view attribute,
                   const std::vector<int64_t>& values, int64_t min);

}  // namespace tilewright::ops
