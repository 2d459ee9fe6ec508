// SPDX-License-Identifier: Apache-2.0
// Products of bytes less their zero points, as the products of bytes that machines have.
#pragma once

#include <optional>

#include "graph/call.h"
#include "te/te.h"

namespace tilewright::ops {

/// Inputs 0 and 1 as unsigned and signed bytes a and b, with
///   (A - its zero point) * (B - its zero point) = (a - a_zero) * b
/// which sums up to  sum(a * b) - a_zero * sum(b)  in integers that wrap around.
struct ByteFactors {
  te::Tensor a, b;
  int64_t a_more = 0;    // a - A; a_zero is the zero point of A, input 2, plus this
  bool centered = true;  // a_zero is 0
};

/// Nothing when A or B are no bytes, or when the zero point of B, input 3, is not known to be 0 for
/// signed and 128 for unsigned bytes.
std::optional<ByteFactors> byte_factors(const graph::Call& call);

}  // namespace tilewright::ops
