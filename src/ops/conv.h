// SPDX-License-Identifier: Apache-2.0
// What the algorithms of Conv share.
#pragma once

#include "ops/window.h"

namespace tilewright::ops {

std::vector<Window> conv_windows(const graph::Call& call);

/// The sum plus the bias, where there is one, in this type.
te::Tensor conv_result(const graph::Call& call, const te::Tensor& sum, ir::Elem elem);

/// Winograd's F(4x4, 3x3) and F(2x2, 3x3): see winograd.cpp.
graph::Algorithm winograd();
graph::Algorithm winograd_2x2();

}  // namespace tilewright::ops
