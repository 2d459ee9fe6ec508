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

/// Writes out unrolled loops. A variable that has become a constant is folded into what mentions
/// it, so that no simplification of the many copies is needed.
class Unroller {
 public:
  Stmt run(const Stmt& s) {
    return rewrite(
        s, [&](const VarNode& v, auto&) -> Expr { return value_of(v); },
        [&](const Binary& b, auto& self) -> Expr { return folded(b, self(b.a), self(b.b)); },
        [&](const Select& c, auto& self) -> Expr { return choice(c, self); },
        [&](const Guard& c, auto& self) -> Expr { return choice(c, self); },
        [&](const If& s, auto& self) -> Stmt { return branch(s, self); },
        [&](const Let& let, auto& self) -> Stmt { return bound(let, self); },
        [&](const Alloc& a, auto& self) -> Stmt { return sized(a, self); },
        [&](const Buffer& b) -> Buffer {
          const auto found = resized_.find(b);
          return found == resized_.end() ? b : found->second;
        },
        [&](const For& loop, auto& self) -> Stmt { return written_out(loop, self); });
  }

 private:
  Expr value_of(const VarNode& v) const {
    const auto found = values_.find(Var::of(v));
    return found == values_.end() ? Expr::of(v) : found->second;
  }

  /// Constants of a sum come last and together: (x + 3) + (y + 4) is (x + y) + 7.
  static Expr folded(const Binary& b, const Expr& left, const Expr& right) {
    if (left == b.a && right == b.b) return Expr::of(b);
    if (b.op != BinaryOp::Add || !left.type().is_int() || left.type().lanes != 1)
      return binary(b.op, left, right);
    const auto [x, c] = parts(left);
    const auto [y, d] = parts(right);
    return (x + y) + (c + d);
  }
  /// {x, 3} of x + 3
  static std::pair<Expr, Expr> parts(const Expr& e) {
    const Expr zero = int_imm(e.type().elem, 0);
    if (const_int(e)) return {zero, e};
    const Binary* sum = e.as<Binary>();
    if (sum && sum->op == BinaryOp::Add && const_int(sum->b)) return {sum->a, sum->b};
    return {e, zero};
  }

  template <class T, class Self>
  static Expr choice(const T& c, Self& self) {
    const Expr cond = self(c.cond);
    if (is_true(cond)) return self(c.yes);
    if (is_false(cond)) return self(c.no);
    return self.children(c);
  }

  template <class Self>
  static Stmt branch(const If& s, Self& self) {
    const Expr cond = self(s.cond);
    if (is_true(cond)) return self(s.yes);
    if (is_false(cond)) return s.no ? self(s.no) : nothing();
    return self.children(s);
  }

  template <class Self>
  Stmt bound(const Let& let, Self& self) {
    const Expr value = self(let.value);
    values_.erase(let.var);  // it may have been a constant in the copy before
    if (!const_int(value) && !value.as<VarNode>()) return self.children(let);
    values_[let.var] = value;
    return self(let.body);
  }

  /// A buffer whose size mentions an unrolled variable is another one in each copy.
  template <class Self>
  Stmt sized(const Alloc& a, Self& self) {
    const Buffer sized = substitute(a.buffer, values_);
    resized_.erase(a.buffer);
    if (sized == a.buffer) return self.children(a);
    resized_[a.buffer] = sized;
    return make_stmt<Alloc>(a.span, sized, self(a.body));
  }

  template <class Self>
  Stmt written_out(const For& loop, Self& self) {
    if (loop.loop != ForKind::Unrolled) return self.children(loop);
    const std::optional<int64_t> extent = const_int(self(loop.extent));
    if (!extent) {
      throw Error({.code = "lower.unroll.extent",
                   .at = loop.span,
                   .message = str("cannot unroll `", loop.var.name(), "`"),
                   .notes = {str("its extent ", print(loop.extent), " is not a constant")},
                   .help = "split the loop by a constant and unroll the inner part"});
    }
    const Expr min = self(loop.min);
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i) {
      values_[loop.var] = min + i;
      copies.push_back(self(loop.body));
    }
    return seq(std::move(copies), loop.span);
  }

  VarMap values_;
  BufferMap resized_;
};

}  // namespace

/// Replaces each loop marked `unrolled` by its iterations.
///   before   unrolled for i in 0..2 { a[i] = i }
///   after    a[0] = 0
///            a[1] = 1
/// Comes late, so that what runs before it sees one copy of each statement.
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
  return func.with_body(Unroller().run(func.body));
}

}  // namespace tilewright::lower
