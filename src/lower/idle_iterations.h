// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "arith/context.h"
#include "ir/stmt.h"

namespace tilewright::lower {

/// `body` with the first `rest` iterations only of those unrolled loops whose others are known to
/// have no effect: what they do stands under conditions that are false here, or fills elements of
/// buffers of the body's own that nothing reads. For n - v*8 <= 4, and `rest` 4:
///   before   alloc s { unrolled for r in 0..8 { s[r] = … }
///              unrolled for r in 0..8 { if v*8 + r < n { y[v*8 + r] = s[r] } } }
///   after    alloc s { unrolled for r in 0..4 { s[r] = … }
///              unrolled for r in 0..4 { if v*8 + r < n { y[v*8 + r] = s[r] } } }
ir::Stmt without_idle_iterations(const ir::Stmt& body, int64_t rest, const arith::Context& here);

}  // namespace tilewright::lower
