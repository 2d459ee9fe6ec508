// SPDX-License-Identifier: Apache-2.0
// Slicing and joining of tensors and tensors of strings along one axis.
#pragma once

#include "runtime/host_ops/host_op.h"

namespace tilewright::runtime {

/// Elements begin … end − 1 along `axis` as a value of its own; without the axis when `drop` is set
/// (then end = begin + 1). nullptr: the call has failed.
Value* slice_of(HostCall& call, const ArrayView& array, size_t axis, int64_t begin, int64_t end,
                bool drop);

/// The arrays one after the other along `axis`, as output 0. All have the same other dimensions.
tw_status concat_to_output(HostCall& call, std::span<const ArrayView> parts, size_t axis,
                           std::span<const int64_t> dims);

}  // namespace tilewright::runtime
