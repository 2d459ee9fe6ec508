// SPDX-License-Identifier: Apache-2.0
// Products of bytes less their zero points, as the products of bytes that machines have.
#pragma once

#include <optional>

#include "graph/call.h"
#include "te/te.h"

namespace tilewright::ops {

/// Inputs 0 and 1 as unsigned and signed bytes a and b, with
///   (A - its zero point) * (B - its zero point) = (a - a_zero) * (b - b_zero)
/// which over `count` terms sums up to
///   sum(a * b) - a_zero * sum(b) - b_zero * (sum(a) - count * a_zero)
/// in integers that wrap around.
struct ByteFactors {
  te::Tensor a, b;
  int64_t a_more = 0, b_more = 0;  // a - A and b - B; a_zero is the zero point of A, input 2, plus
                                   // this, b_zero likewise that of B, input 3
  bool a_centered = true, b_centered = true;  // the zero is known to be 0
};

/// Nothing when A or B are no bytes.
std::optional<ByteFactors> byte_factors(const graph::Call& call);

/// Are all elements of input i, which may be missing and is 0 then, this number?
bool is_all(const graph::Call& call, size_t i, int64_t number);

/// Instructions add up the products of neighbours in groups of so many.
constexpr int64_t kBytesTogether = 4;

/// Results of so many rows are whole tiles on any machine.
constexpr int64_t kRowsOfBytes = 128;

/// An extent that is known, rounded up to a multiple; one that the run tells as it is.
graph::Dim in_whole(const graph::Dim& extent, int64_t multiple);
inline int64_t in_whole_groups(int64_t extent) {
  return (extent + kBytesTogether - 1) / kBytesTogether * kBytesTogether;
}

}  // namespace tilewright::ops
