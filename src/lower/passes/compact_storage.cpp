// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "ir/sharing.h"
#include "lower/access.h"
#include "lower/carried.h"
#include "lower/facts.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "lower/unique.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// May a buffer of this scope be made anew by each iteration of such a loop?
bool may_be_inside(const Scope& scope, const For& loop) {
  switch (loop.loop) {
    case ForKind::Serial:
    case ForKind::Parallel:
    case ForKind::VThread: return true;
    case ForKind::Vectorized:  // would make a copy per lane or iteration for nothing
    case ForKind::Unrolled: return false;
    case ForKind::Bound: break;
  }
  if (scope.kind == ScopeKind::Register || scope.kind == ScopeKind::Tile) return true;
  return scope.kind == ScopeKind::Shared && loop.axis <= ThreadAxis::BlockZ;
}

// No place in a buffer is as far: such a number is what is left of an unknown bound.
constexpr int64_t kFarthest = int64_t{1} << 48;

/// The part of one dimension that is used, as expressions of what is known at the allocation.
struct Span1 {
  Expr first, last;  // null: unknown
};

class Placer {
 public:
  Placer(const Buffer& buffer, Facts& facts) : buffer_(buffer), facts_(facts) {}

  /// `s` with the allocation as far inside as all uses and their order allow.
  Stmt place(const Stmt& s) {
    return visit(s, [&](const auto& node) { return inside(node); });
  }

 private:
  Stmt inside(const StmtNode& s) { return allocate(Stmt::of(s)); }

  Stmt inside(const Seq& s) {
    const auto uses_it = [&](const Stmt& c) { return mentions(c, buffer_); };
    const auto first = std::ranges::find_if(s.stmts, uses_it);
    if (first == s.stmts.end()) return Stmt::of(s);
    const auto last = std::find_if(s.stmts.rbegin(), s.stmts.rend(), uses_it).base();
    std::vector<Stmt> out(s.stmts.begin(), first);
    out.push_back(last - first == 1 ? place(*first) : allocate(seq({first, last}, s.span)));
    out.insert(out.end(), last, s.stmts.end());
    return seq(std::move(out), s.span);
  }

  Stmt inside(const For& loop) {
    if (mentions(loop.min, buffer_) || mentions(loop.extent, buffer_) ||
        !may_be_inside(buffer_->scope, loop) || !independent(loop))
      return allocate(Stmt::of(loop));
    return facts_.inside(
        loop, [&] { return with(loop, [&](For& out) { out.body = place(loop.body); }); });
  }

  /// Concurrent iterations that shared an element would race.
  bool independent(const For& loop) const {
    return loop.loop != ForKind::Serial || carries_nothing(loop, buffer_, facts_.here());
  }

  Stmt inside(const Let& let) {
    if (mentions(let.value, buffer_)) return allocate(Stmt::of(let));
    return facts_.inside(let,
                         [&] { return with(let, [&](Let& out) { out.body = place(let.body); }); });
  }

  Stmt inside(const Alloc& a) {
    return with(a, [&](Alloc& out) { out.body = place(a.body); });
  }

  Stmt inside(const If& s) {
    const bool yes = mentions(s.yes, buffer_), no = s.no && mentions(s.no, buffer_);
    if (mentions(s.cond, buffer_) || (yes && no)) return allocate(Stmt::of(s));
    return with(s, [&](If& out) {
      if (yes) out.yes = facts_.where(s.cond, [&] { return place(s.yes); });
      if (no) out.no = facts_.where(logical_not(s.cond), [&] { return place(s.no); });
    });
  }

  /// The allocation around `s`, no larger than what `s` touches.
  Stmt allocate(const Stmt& s) {
    if (!mentions(s, buffer_)) return s;
    std::vector<Expr> offsets, shape;
    bool smaller = false;
    const std::vector<Access> all = accesses_of(s);
    for (int d = 0; d < buffer_->rank(); ++d) {
      const Range part = used_part(all, d);
      offsets.push_back(part.min ? part.min : Expr(0));
      shape.push_back(part.min ? part.extent : buffer_->shape[d]);
      smaller = smaller || part.min;
    }
    if (!smaller || buffer_->layout) return make_stmt<Alloc>(buffer_->span, buffer_, s);
    const Buffer small = make_buffer(buffer_->name, buffer_->elem, shape, buffer_->scope, nullptr,
                                     buffer_->alignment, buffer_->span);
    const Stmt body = redirect(s, buffer_, small, [&](const std::vector<Expr>& indices) {
      std::vector<Expr> out;
      for (size_t d = 0; d < indices.size(); ++d)
        out.push_back(lane_binary(BinaryOp::Sub, indices[d], offsets[d]));
      return out;
    });
    return make_stmt<Alloc>(buffer_->span, small, body);
  }

  /// The part of dimension d that is touched; null when it is not known to be smaller than all.
  Range used_part(const std::vector<Access>& all, int d) const {
    const arith::Context& here = facts_.here();
    Expr first, last;
    for (const Access& a : all) {
      if (a.buffer != buffer_) continue;
      const Span1 span = bounds_outside(a, d);
      if (!span.first || !span.last) return {};
      first = !first ? span.first : lesser(first, span.first);
      last = !last ? span.last : -lesser(-last, -span.last);
    }
    if (!first) return {};
    first = here.simplify(first);
    Expr extent = here.simplify(last - first + 1);
    if (!const_int(extent)) {  // a constant size is worth more than a tight one
      const arith::Interval i = here.bounds(extent);
      if (i.hi < (int64_t{1} << 24)) extent = Expr(std::max<int64_t>(i.hi, 0));
    }
    if (here.can_prove(buffer_->shape[d] <= extent)) return {};
    if (!const_int(extent) && !here.can_prove(extent <= buffer_->shape[d])) return {};
    return {first, extent};
  }

  Expr lesser(const Expr& a, const Expr& b) const {
    const arith::Context& here = facts_.here();
    if (here.can_prove(a <= b)) return a;
    if (here.can_prove(b <= a)) return b;
    return min(a, b);
  }

  Span1 bounds_outside(const Access& a, int d) const {
    const Range& r = a.box[d];
    if (!r.min) return {};
    arith::Context at(facts_.here());
    enter(a.around, at);
    std::vector<Var> inner;
    for (const Around& s : a.around)
      if (s.var) inner.push_back(s.var);
    const Span1 out{at.eliminate(r.min, inner).lo, at.eliminate(r.min + r.extent - 1, inner).hi};
    for (const Expr& e : {out.first, out.last}) {
      if (!e || has_load(e)) return {};
      if (const auto at = const_int(e); at && (*at < -kFarthest || *at > kFarthest)) return {};
    }
    return out;
  }

  const Buffer buffer_;
  Facts& facts_;
};

}  // namespace

/// Makes each allocation as small and as local as its uses allow: it moves into the innermost loop
/// whose iterations hand nothing on through it, and shrinks to the region touched there.
///   before   alloc t: f32[n]
///            for io in 0..n/8 { for ii in 0..8 { t[io*8 + ii] = … }  for ii in 0..8 { … t[io*8 +
///            ii] } }
///   after    for io in 0..n/8 { alloc t: f32[8]
///            for ii in 0..8 { t[ii] = … }  for ii in 0..8 { … t[ii] } }
/// In a parallel loop this makes the buffer private to an iteration. Buffers of `shared` scope stay
/// outside of the threads of a block; those with a layout keep their shape.
/// Needs:  no blocks.
/// Leaves: the same accesses at other indices; variables of loops and lets are distinct.
LoopFunc compact_storage(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "compact_storage");
  Facts facts(func);
  std::vector<const For*> around;
  return func.with_body(rewrite(
      with_unique_vars(func.body),
      [&](const Alloc& a, auto& self) -> Stmt {
        // What iterations of hardware share has room for all of them.
        if (!std::ranges::all_of(around, [&](const For* f) { return is_own(*a.buffer, *f); }))
          return self.children(a);
        return Placer(a.buffer, facts).place(self(a.body));
      },
      [&](const For& loop, auto& self) -> Stmt {
        around.push_back(&loop);
        Stmt out = facts.inside(loop, [&] { return self.children(loop); });
        around.pop_back();
        return out;
      },
      [&](const Let& let, auto& self) -> Stmt {
        return facts.inside(let, [&] { return self.children(let); });
      },
      [&](const If& s, auto& self) -> Stmt {
        return with(s, [&](If& out) {
          out.yes = facts.where(s.cond, [&] { return self(s.yes); });
          if (s.no) out.no = facts.where(logical_not(s.cond), [&] { return self(s.no); });
        });
      }));
}

}  // namespace tilewright::lower
