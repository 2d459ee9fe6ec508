// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// Too cheap to keep in a variable: constants, variables, and the same in every lane.
bool is_trivial(const Expr& e) {
  if (const Broadcast* b = e.as<Broadcast>()) return is_trivial(b->value);
  if (const Cast* c = e.as<Cast>()) return is_trivial(c->value);
  if (const Ramp* r = e.as<Ramp>()) return is_trivial(r->base) && is_trivial(r->stride);
  return e.as<IntImm>() || e.as<FloatImm>() || e.as<VarNode>();
}

class Hoister {
 public:
  explicit Hoister(const LoopFunc& func) {
    for (const Symbol& s : func.symbols) depth_[s.var] = 0;
  }

  Stmt run(const Stmt& s) {
    return rewrite(
        s, [&](const For& loop, auto& self) -> Stmt { return in_loop(loop, self); },
        [&](const Let& let, auto& self) -> Stmt { return bound(let, self); },
        [&](const Agents& agents, auto& self) -> Stmt {
          for (const Agent& a : agents.agents) {
            if (a.index) depth_[a.index] = here();
            depth_[a.thread] = here();
          }
          return self.children(agents);
        },
        [&](const Binary& b, auto& self) -> Expr { return arithmetic(b, self); },
        [&](const Unary& u, auto& self) -> Expr { return arithmetic(u, self); },
        [&](const Call& c, auto& self) -> Expr { return arithmetic(c, self); },
        [&](const Select& c, auto& self) -> Expr { return arithmetic(c, self); });
  }

 private:
  static constexpr int kNever = 1 << 30;

  /// A loop that the walk is in, with the lets that stand before it.
  struct Level {
    std::vector<std::pair<Var, Expr>> lets;
  };
  int here() const { return static_cast<int>(levels_.size()); }

  /// The number of loops around the place where `e` is known, or kNever.
  int depth_of(const Expr& e) const {
    int depth = 0;
    walk(
        e,
        [&](const VarNode& v) {
          const auto found = depth_.find(Var::of(v));
          depth = std::max(depth, found == depth_.end() ? kNever : found->second);
        },
        [&](const Load&) { depth = kNever; });
    return depth;
  }

  template <class Self>
  Stmt in_loop(const For& loop, Self& self) {
    if (loop.loop == ForKind::Unrolled) {
      // Not a loop for long: its variable is a constant in each copy.
      depth_[loop.var] = here();
      return self.children(loop);
    }
    const Expr min = self(loop.min), extent = self(loop.extent);
    levels_.emplace_back();
    depth_[loop.var] = here();
    const Stmt body = self(loop.body);
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    Stmt out = Stmt::of(loop);
    if (min != loop.min || extent != loop.extent || body != loop.body)
      out = with(loop, [&](For& f) {
        f.min = min;
        f.extent = extent;
        f.body = body;
      });
    for (auto it = level.lets.rbegin(); it != level.lets.rend(); ++it)
      out = make_stmt<Let>(loop.span, it->first, it->second, out);
    return out;
  }

  /// A let that does not change inside the loops around it moves out of them.
  template <class Self>
  Stmt bound(const Let& let, Self& self) {
    const Expr value = self(let.value);
    const int depth = depth_of(value);
    if (depth < here()) {
      const Expr outside = is_trivial(value) ? value : before(depth, value, let.var.name());
      return self(substitute(let.body, let.var, outside));
    }
    depth_[let.var] = here();
    const Stmt body = self(let.body);
    if (value == let.value && body == let.body) return Stmt::of(let);
    return make_stmt<Let>(let.span, let.var, value, body);
  }

  /// A variable that holds `value`, bound before the loop at that depth.
  Var before(int depth, const Expr& value, const std::string& name) {
    auto& lets = levels_[depth].lets;
    for (const auto& [var, known] : lets)
      if (equal(known, value)) return var;
    lets.emplace_back(Var(name, value.type(), value->span), value);
    depth_[lets.back().first] = depth;
    return lets.back().first;
  }

  template <class T, class Self>
  Expr arithmetic(const T& node, Self& self) {
    const Expr e = Expr::of(node);
    if (e.type() == kIndex && here() > 0) return index(e, self);
    const int depth = depth_of(e);
    if (depth < here() && !vars_of(e).empty()) return before(depth, self.children(node), "inv");
    return self.children(node);
  }

  /// An index as sums by depth, each inside of the next: what a loop does not change stands before
  /// it.
  ///   io*448 + k*32 + 64 in `for io { for k`   ->   inv = io*448;  inv + k*32 + 64
  template <class Self>
  Expr index(const Expr& e, Self& self) {
    const auto form = arith::affine_of(e);
    if (!form) return e;
    Expr sum = 0;
    for (int depth = 0; depth <= here(); ++depth) {
      bool any = false;
      for (const auto& t : form->terms) {
        const int at = std::min(depth_of(t.expr), here());
        if (at != depth) continue;
        const Expr term = at == here() ? inner_term(t.expr, self) : t.expr;
        sum = sum + term * t.coefficient;
        any = true;
      }
      if (any && depth < here() && !is_trivial(sum)) sum = before(depth, sum, "inv");
    }
    return sum + form->constant;
  }

  /// A term that the form cannot look into: its parts may still be invariant.
  template <class Self>
  Expr inner_term(const Expr& term, Self& self) {
    return visit(term, [&](const auto& node) { return self.children(node); });
  }

  std::vector<Level> levels_;
  std::unordered_map<Var, int> depth_;
};

}  // namespace

/// Moves arithmetic that a loop does not change in front of it.
///   before   for io in 0..n { for k in 0..m { y[io*m + k] = x[io*m + k + 1] } }
///   after    for io in 0..n { let inv = io*m   for k in 0..m { y[inv + k] = x[inv + k + 1] } }
/// Indices are regrouped so that the parts of outer loops come together and constants stay last.
/// Loads stay where they are.
/// Needs:  no blocks.
/// Leaves: the same statements; new lets in front of loops.
LoopFunc hoist_invariants(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "hoist_invariants");
  return func.with_body(Hoister(func).run(func.body));
}

}  // namespace tilewright::lower
