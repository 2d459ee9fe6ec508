// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/call.h"

namespace tilewright::ops {

/// The elements of `t` in row-major order, in another shape of as many elements. Dimensions that
/// stay are indexed as they are; only between them are indices linearised:
///   [a, b, c*d] -> [a*b, c, d]   reads t[i / b, i % b, j*d + k]
te::Tensor reshaped(const te::Tensor& t, const graph::Shape& shape);

}  // namespace tilewright::ops
