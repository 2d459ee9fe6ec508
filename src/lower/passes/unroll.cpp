// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "lower/passes/passes.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// Statements of a body once its unrolled loops are written out; saturates at `limit` + 1.
int64_t unrolled_size(const Stmt& s, int64_t limit) {
  int64_t inside = 0;
  for_each_child(
      s, [](const Expr&) {},
      [&](const Stmt& child) {
        inside = std::min(limit + 1, inside + unrolled_size(child, limit));
      });
  if (s.as<Seq>()) return inside;
  const For* loop = s.as<For>();
  if (!loop || loop->loop != ForKind::Unrolled) return std::min(limit + 1, inside + 1);
  const int64_t extent = std::max<int64_t>(0, const_int(loop->extent).value_or(1));
  if (extent != 0 && inside > limit / extent) return limit + 1;
  return inside * extent;
}

}  // namespace

/// Replaces each loop marked `unrolled` by its iterations.
///   before   unrolled for i in 0..2 { a[i] = i }
///   after    a[0] = 0
///            a[1] = 1
/// Needs:  constant extents (simplify has run).
/// Leaves: no unrolled loop in the function, at most `limits.max_unrolled` statements from each.
LoopFunc unroll(const LoopFunc& func, PassContext& context) {
  const int64_t limit = context.limits.max_unrolled;
  walk(func.body, [&](const For& loop) {
    if (loop.loop != ForKind::Unrolled) return true;
    if (unrolled_size(Stmt::of(loop), limit) > limit) {
      throw Error({.code = "lower.unroll.size",
                   .at = loop.span,
                   .message = str("unrolling `", loop.var.name(), "` would write out more than ",
                                  limit, " statements"),
                   .notes = {str("it has ", print(loop.extent), " iterations")},
                   .help = "split the loop and unroll a smaller inner part"});
    }
    return false;  // loops inside were counted
  });
  return func.with_body(rewrite(func.body, [](const For& loop, auto& self) -> Stmt {
    if (loop.loop != ForKind::Unrolled) return self.children(loop);
    const std::optional<int64_t> extent = const_int(loop.extent);
    if (!extent) {
      throw Error({.code = "lower.unroll.extent",
                   .at = loop.span,
                   .message = str("cannot unroll `", loop.var.name(), "`"),
                   .notes = {str("its extent ", print(loop.extent), " is not a constant")},
                   .help = "split the loop by a constant and unroll the inner part"});
    }
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i)
      copies.push_back(self(substitute(loop.body, loop.var, loop.min + i)));
    return seq(std::move(copies), loop.span);
  }));
}

}  // namespace tilewright::lower
