// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "graph/builder.h"
#include "graph/call.h"

namespace tilewright::ops {

/// The elements of `t` in row-major order, in another shape of as many elements. Dimensions that
/// stay are indexed as they are; only between them are indices linearised:
///   [a, b, c*d] -> [a*b, c, d]   reads t[i / b, i % b, j*d + k]
te::Tensor reshaped(const te::Tensor& t, const graph::Shape& shape);

/// How many dimensions may be left of the tensor `x` without those that turn out to be 1: the
/// fewest and the most.
std::pair<int, int> squeezed_ranks(graph::Builder& g, graph::ValueId x);
/// A bool: are that many left?
graph::ValueId squeezes_to(graph::Builder& g, graph::ValueId x, int rank);
/// `x` with the dimensions that are left; the run refuses another number of them.
graph::ValueId squeezed(graph::Builder& g, graph::ValueId x, int rank);

}  // namespace tilewright::ops
