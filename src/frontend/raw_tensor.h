// SPDX-License-Identifier: Apache-2.0
// What all readers of tensors share: sizes that cannot overflow, and bytes taken as they are.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "graph/constant.h"
#include "support/bytes.h"

namespace tilewright::frontend {

constexpr size_t kMaxRank = 32;
constexpr int64_t kMaxElements = int64_t{1} << 40;

/// The number of elements of a shape. Refuses one that is out of bounds; extents beside a 0 count
/// as well, so that no product of them overflows. `what` names the user's object.
int64_t checked_count(const std::vector<int64_t>& dims, const std::string& what);

/// A view of bytes that lie as the IR has them, as many as the shape takes. Refuses bools other
/// than 0 and 1.
graph::Constant raw_tensor(ir::Elem elem, std::vector<int64_t> dims, Bytes bytes,
                           std::shared_ptr<const void> owner, const std::string& what);

/// Bytes of an element that has its own; 1 for those that share one.
size_t width_of(ir::Elem elem);

}  // namespace tilewright::frontend
