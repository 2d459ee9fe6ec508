// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/stmt.h"

namespace tilewright::lower {

/// The update as loads, combination and stores; all reads come before all writes.
///   c[i] sum= v          ->  c[i] = c[i] + v
///   m[], x[] argmax= i, v  ->  let m_old = m[] … m[] = combine(…); x[] = combine(…)
/// Lanes whose `mask` is false (null: none) keep their value.
ir::Stmt expand_update(const ir::Update& update, const ir::Expr& mask = {});

}  // namespace tilewright::lower
