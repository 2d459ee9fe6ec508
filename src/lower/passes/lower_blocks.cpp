// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/rewrite.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

using namespace ir;

/// Replaces each block by its statements under the loops around it: iterators become their
/// bindings, the predicate an `if`, and the init an `if` on the first instance of the reduction.
///   before   block c(i: spatial n = io*8 + ii, k: reduce m = ko) where io*8 + ii < n
///              { init { C[i] = 0.0 }  C[i] sum= A[i, k] }
///   after    if io*8 + ii < n {
///              if ko == 0 { C[io*8 + ii] = 0.0 }
///              C[io*8 + ii] sum= A[io*8 + ii, ko]
///            }
/// Needs:  nothing.
/// Leaves: no block in the function, in the same order; stage `scheduled` or later.
LoopFunc lower_blocks(const LoopFunc& func, PassContext&) {
  LoopFunc out = func;
  if (func.stage == Stage::Loops) out.stage = Stage::Scheduled;
  out.body = rewrite(func.body, [](const Block& block, auto& self) -> Stmt {
    VarMap bindings;
    for (const BlockIter& it : block.iters) bindings[it.var] = it.binding;

    Stmt body = self(substitute(block.body, bindings));
    if (block.init) {
      Expr first;
      for (const BlockIter& it : block.iters)
        if (it.kind == IterKind::Reduction) first = both(first, eq(it.binding, 0));
      Stmt init = self(substitute(block.init, bindings));
      if (first) init = make_stmt<If>(block.span, first, init);
      body = seq({std::move(init), std::move(body)}, block.span);
    }
    if (!block.predicate) return body;
    return make_stmt<If>(block.span, substitute(block.predicate, bindings), body);
  });
  return out;
}

}  // namespace tilewright::lower
