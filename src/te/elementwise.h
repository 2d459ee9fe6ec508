// SPDX-License-Identifier: Apache-2.0
// Whole tensors in one line: `exp(x - max_over(x, 1))`. Each operator is a stage of its own.
//
// Shapes broadcast as in NumPy: aligned at the last dimension, and a missing dimension or one of
// constant extent 1 is repeated. Other extents must be equal as written (`n + 1` is not `1 + n`).
#pragma once

#include "te/compute.h"

namespace tilewright::te {

/// f of every element.
Tensor map(const Tensor& t, FunctionRef<Expr(const Expr&)> f);
/// f of every pair of elements, broadcast.
Tensor map(const Tensor& a, const Tensor& b, FunctionRef<Expr(const Expr&, const Expr&)> f);

// An Expr beside a tensor is a literal, or another value that mentions no axis.
#define TW_TE_OPERATOR(sign)                                                 \
  inline Tensor operator sign(const Tensor& a, const Tensor& b) {            \
    return map(a, b, [](const Expr& x, const Expr& y) { return x sign y; }); \
  }                                                                          \
  inline Tensor operator sign(const Tensor& a, const Expr& y) {              \
    return map(a, [&](const Expr& x) { return x sign y; });                  \
  }                                                                          \
  inline Tensor operator sign(const Expr& x, const Tensor& b) {              \
    return map(b, [&](const Expr& y) { return x sign y; });                  \
  }
TW_TE_OPERATOR(+)
TW_TE_OPERATOR(-)
TW_TE_OPERATOR(*)
TW_TE_OPERATOR(/)
#undef TW_TE_OPERATOR

/// The reduction over dimension `axis` (a negative one counts from the end), which stays with
/// extent 1, so that the result broadcasts against `t`.
Tensor sum_over(const Tensor& t, int axis);
Tensor max_over(const Tensor& t, int axis);
Tensor min_over(const Tensor& t, int axis);

}  // namespace tilewright::te
