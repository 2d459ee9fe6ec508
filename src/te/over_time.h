// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "te/compute.h"

namespace tilewright::te {

/// What `t`, a formula of the variable, is at every value of it: result(v, …) is t(…) where the
/// variable is v, for 0 <= v < extent. Nothing when the variable reaches it through a scan; itself,
/// without a new axis, is never given: a tensor that does not mention the variable is repeated.
///   before   r[i] = sum(j) x[v, j] * w[j, i]
///   after    r[v, i] = sum(j) x[v, j] * w[j, i]
std::optional<Tensor> over_time(const Tensor& t, const ir::Var& variable, const ir::Expr& extent);

}  // namespace tilewright::te
