// SPDX-License-Identifier: Apache-2.0
#include "arith/context.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

/// Simplifies every expression with what the loops, lets and ifs around it say; branches and loops
/// that provably do nothing disappear.
///   before   for i in 0..8 { if i < 10 { a[i*4/4] = 0.0 } }
///   after    for i in 0..8 { a[i] = 0.0 }
/// Needs:  nothing.
/// Leaves: what it found, in a simpler form.
ir::LoopFunc simplify(const ir::LoopFunc& func, PassContext&) {
  return func.with_body(arith::simplify(func.body, arith::Context(func)));
}

}  // namespace tilewright::lower
