// SPDX-License-Identifier: Apache-2.0
#include "arith/region.h"

#include "ir/equal.h"
#include "ir/rewrite.h"

namespace tilewright::arith {
namespace {

using ir::Expr;
using ir::Range;
using ir::Region;

Expr last(const Range& r) { return r.min + r.extent - 1; }

bool same_rank(const Expr& a, const Expr& b, const Context& context) {
  if (!a || !b) return !a && !b;
  return context.can_prove_equal(a, b);
}

bool is_empty(const Region& r, const Context& context) {
  for (const Range& range : r.ranges)
    if (context.can_prove(range.extent <= 0)) return true;
  return false;
}

}  // namespace

Region widen(const Region& region, const std::vector<ir::Var>& vars, const Context& context) {
  Region out = region;
  for (size_t d = 0; d < out.ranges.size(); ++d) {
    Range& r = out.ranges[d];
    bool mentions = false;
    for (const ir::Var& v : vars)
      mentions = mentions || ir::uses(r.min, v) || ir::uses(r.extent, v);
    if (!mentions) continue;
    const Expr lo = context.eliminate(r.min, vars).lo, hi = context.eliminate(last(r), vars).hi;
    if (lo && hi)
      r = {lo, context.simplify(hi - lo + 1)};
    else
      r = {0, region.buffer->shape[d]};
  }
  return out;
}

Region unite(const Region& a, const Region& b, const Context& context) {
  Region out = a;
  for (size_t d = 0; d < out.ranges.size(); ++d) {
    const Range &x = a.ranges[d], &y = b.ranges[d];
    if (ir::equal(x.min, y.min) && ir::equal(x.extent, y.extent)) continue;
    const Expr lo = context.simplify(ir::min(x.min, y.min));
    const Expr end = context.simplify(ir::max(x.min + x.extent, y.min + y.extent));
    out.ranges[d] = {lo, context.simplify(end - lo)};
  }
  return out;
}

bool disjoint(const Region& a, const Region& b, const Context& context) {
  if (a.buffer != b.buffer) return true;
  if (is_empty(a, context) || is_empty(b, context)) return true;
  if (a.rank && b.rank && context.can_prove(ir::ne(a.rank, b.rank))) return true;
  for (size_t d = 0; d < a.ranges.size(); ++d) {
    const Range &x = a.ranges[d], &y = b.ranges[d];
    if (context.can_prove(x.min + x.extent <= y.min) ||
        context.can_prove(y.min + y.extent <= x.min))
      return true;
    // Single elements may interleave: even and odd rows.
    if (ir::is_const(x.extent, 1) && ir::is_const(y.extent, 1) &&
        context.can_prove(ir::ne(x.min, y.min)))
      return true;
  }
  return false;
}

bool covers(const Region& outer, const Region& inner, const Context& context) {
  if (outer.buffer != inner.buffer) return false;
  if (is_empty(inner, context)) return true;
  if (!same_rank(outer.rank, inner.rank, context)) return false;
  for (size_t d = 0; d < outer.ranges.size(); ++d) {
    const Range &x = outer.ranges[d], &y = inner.ranges[d];
    if (ir::equal(x.min, y.min) && ir::equal(x.extent, y.extent)) continue;
    // A whole dimension holds every element that there is.
    if (context.can_prove(x.min <= 0) &&
        context.can_prove(outer.buffer->shape[d] <= x.min + x.extent))
      continue;
    if (!context.can_prove(x.min <= y.min) ||
        !context.can_prove(y.min + y.extent <= x.min + x.extent))
      return false;
  }
  return true;
}

}  // namespace tilewright::arith
