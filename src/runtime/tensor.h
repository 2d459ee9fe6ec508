// SPDX-License-Identifier: Apache-2.0
// The C ABI's tensor: DLPack's numbers for element types, and strides.
#pragma once

#include <span>

#include "module/elem.h"
#include "tilewright/runtime.h"

namespace tilewright::runtime {

/// An ElemType, or −1.
int elem_of(const tw_tensor& tensor);
/// False for strings.
bool set_elem(tw_tensor& tensor, ElemType elem);
/// A compact tensor on the CPU.
tw_tensor tensor_view(void* data, ElemType elem, std::span<int64_t> dims);
/// Are the strides those of a row-major tensor without gaps, where they matter?
bool is_compact(const tw_tensor& tensor);

}  // namespace tilewright::runtime
