// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "lower/facts.h"
#include "lower/idle_iterations.h"
#include "lower/last_iteration.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// For which iterations of one loop the conditions inside are known: begin <= v < end.
struct Steady {
  std::vector<Expr> begins, ends;
  std::unordered_map<Expr, Expr> known;  // condition -> what it is there
  /// Where one of the ends is that of an unrolled loop of `count` inside, it does nothing from
  /// iteration `at` on where `beyond` is negative, `at` put in.
  struct Cut {
    Var at;
    int64_t count;
    Expr beyond;
  };
  std::optional<Cut> cut;
};

/// Finds the conditions in a loop's body that become constants for most of its iterations.
class Finder {
 public:
  /// `lanes` are the variables of loops around whose iterations must run the same statements.
  Finder(const For& loop, const std::vector<Var>& lanes, const arith::Context& outside)
      : loop_(loop), lanes_(lanes), facts_(outside) {
    facts_.inside(loop, [&] { stmt(loop.body); });
    for (const auto& [condition, is, begin, end] : solutions_) {
      if (unsolved_.contains(condition)) continue;
      steady_.known.emplace(condition, is);
      if (begin) add(steady_.begins, begin);
      if (end) add(steady_.ends, end);
    }
  }

  Steady result() && { return std::move(steady_); }

 private:
  struct Solution {
    Expr condition, is;
    Expr begin, end;  // one of them
  };

  static void add(std::vector<Expr>& bounds, const Expr& bound) {
    const auto same = [&](const Expr& e) { return equal(e, bound); };
    if (std::ranges::none_of(bounds, same)) bounds.push_back(bound);
  }

  void stmt(const Stmt& s) {
    for_each_child(s, [&](const Expr& e) { expr(e); }, [](const Stmt&) {});
    if (const For* f = s.as<For>()) {
      inner_.push_back(f->var);
      if (!const_int(f->extent)) unbounded_.insert(f->var);
      if (f->loop == ForKind::Unrolled && is_const(f->min, 0))
        unrolled_[f->var] = const_int(f->extent).value_or(0);
      facts_.inside(*f, [&] { stmt(f->body); });
      inner_.pop_back();
    } else if (const Let* let = s.as<Let>()) {
      inner_.push_back(let->var);
      if (let->value.type() == kIndex && !has_load(let->value))
        lets_[let->var] = substitute(let->value, lets_);
      facts_.inside(*let, [&] { stmt(let->body); });
      inner_.pop_back();
    } else if (const If* branch = s.as<If>()) {
      condition(branch->cond, true);
      facts_.where(branch->cond, [&] { stmt(branch->yes); });
      if (branch->no) facts_.where(logical_not(branch->cond), [&] { stmt(branch->no); });
    } else {
      for_each_child(s, [](const Expr&) {}, [&](const Stmt& c) { stmt(c); });
    }
  }

  void expr(const Expr& e) {
    if (const Guard* g = e.as<Guard>()) {
      condition(g->cond, true);
      expr(g->cond);
      facts_.where(g->cond, [&] { expr(g->yes); });
      facts_.where(logical_not(g->cond), [&] { expr(g->no); });
      return;
    }
    if (const Select* s = e.as<Select>())
      if (!s->cond.type().is_vector()) condition(s->cond, true);
    if (const Binary* b = e.as<Binary>();
        b && b->type == kIndex && (b->op == BinaryOp::Min || b->op == BinaryOp::Max))
      choice(*b);
    for_each_child(e, [&](const Expr& c) { expr(c); });
  }

  /// min(16, n - v*16) is 16 where 16 <= n - v*16: the side that does not move with the loop wins;
  /// min(v*16, n - 1) is v*16 where v*16 <= n - 1: before one that does and rises.
  void choice(const Binary& b) {
    const bool a_moves = depends(b.a), b_moves = depends(b.b);
    if (a_moves == b_moves) return;
    const Expr &still = a_moves ? b.b : b.a, &moving = a_moves ? b.a : b.b;
    const Expr above = b.op == BinaryOp::Min ? moving - still : still - moving;
    if (b.op == BinaryOp::Min && rises(above)) return solve(Expr::of(b), still - moving, moving);
    solve(Expr::of(b), above, still);
  }

  bool rises(const Expr& e) const {
    const auto form = arith::affine_of(facts_.here().simplify(expanded(e)));
    return form && form->coefficient(loop_.var) > 0;
  }

  void condition(const Expr& e, bool wanted) {
    if (const Unary* u = e.as<Unary>(); u && u->op == UnaryOp::Not) return condition(u->a, !wanted);
    const Binary* b = e.as<Binary>();
    if (!b) return;
    if (b->op == (wanted ? BinaryOp::And : BinaryOp::Or)) {
      condition(b->a, wanted);
      condition(b->b, wanted);
      return;
    }
    if (b->a.type() != kIndex || !depends(e)) return;
    switch (b->op) {
      case BinaryOp::Lt:
        return wanted ? solve(e, b->b - b->a - 1, bool_imm(true))
                      : solve(e, b->a - b->b, bool_imm(false));
      case BinaryOp::Le:
        return wanted ? solve(e, b->b - b->a, bool_imm(true))
                      : solve(e, b->a - b->b - 1, bool_imm(false));
      case BinaryOp::Eq:
      case BinaryOp::Ne: {
        const Expr different = bool_imm(b->op == BinaryOp::Ne);
        const Expr d = expanded(b->a - b->b);
        if (facts_.here().can_prove(d >= 0)) return solve(e, d - 1, different);
        if (facts_.here().can_prove(d <= 0)) return solve(e, -1 - d, different);
        return;
      }
      default: return;
    }
  }

  bool depends(const Expr& e) const { return uses(expanded(e), loop_.var); }
  Expr expanded(const Expr& e) const { return substitute(e, lets_); }

  /// Where a*v + rest >= 0 holds for all values of what is bound inside, `e` has the value `is`.
  void solve(const Expr& e, const Expr& nonnegative, const Expr& is) {
    const arith::Context& here = facts_.here();
    const auto form = arith::affine_of(here.simplify(expanded(nonnegative)));
    if (!form || has_load(nonnegative)) return reject(e);
    arith::Affine rest = *form;
    const int64_t a = rest.coefficient(loop_.var);
    std::erase_if(rest.terms, [&](const auto& t) { return t.expr == loop_.var; });
    if (a == 0) return reject(e);
    // `j <= i` under `for j in 0..n` holds for no i but the last ones: leave it to j.
    for (const Var& v : vars_of(to_expr(rest)))
      if (unbounded_.contains(v)) return reject(e);
    const Expr least = here.eliminate(to_expr(rest), inner_).lo;
    if (!least || !is_outside(least)) return reject(e);
    const auto same = [&](const Solution& s) { return s.condition == e && !equal(s.is, is); };
    if (std::ranges::any_of(solutions_, same)) return reject(e);
    if (a > 0)
      solutions_.push_back({.condition = e, .is = is, .begin = ceil_div(-least, Expr(a))});
    else
      solutions_.push_back({.condition = e, .is = is, .end = least / Expr(-a) + 1});
    if (a < 0 && is_true(is)) note_cut(here.simplify(expanded(nonnegative)), rest);
  }

  /// Of the variables bound inside, does only an unrolled loop's make the condition false?
  void note_cut(const Expr& nonnegative, const arith::Affine& rest) {
    std::optional<Steady::Cut> found;
    for (const Var& v : inner_) {
      if (!uses(nonnegative, v)) continue;
      const auto unrolled = unrolled_.find(v);
      if (found || unrolled == unrolled_.end() || rest.coefficient(v) >= 0) return;
      found = Steady::Cut{v, unrolled->second, nonnegative};
    }
    if (found && (!steady_.cut || found->count > steady_.cut->count)) steady_.cut = found;
  }

  /// One use of a condition that cannot be solved keeps it everywhere: nodes may be shared.
  void reject(const Expr& e) { unsolved_.insert(e); }

  bool is_outside(const Expr& e) const {
    const auto vars = vars_of(e);
    const auto mentioned = [&](const Var& v) { return vars.contains(v); };
    return !vars.contains(loop_.var) && std::ranges::none_of(inner_, mentioned) &&
           std::ranges::none_of(lanes_, mentioned);
  }

  const For& loop_;
  const std::vector<Var>& lanes_;
  Facts facts_;
  std::vector<Var> inner_;  // bound between the loop and here
  VarMap lets_;
  std::unordered_set<Var> unbounded_;  // loops inside without a constant extent
  std::unordered_map<Var, int64_t> unrolled_;
  std::vector<Solution> solutions_;
  std::unordered_set<Expr> unsolved_;
  Steady steady_;
};

/// `s` with the known conditions put in, and what follows from them.
Stmt with_known(const Stmt& s, const std::unordered_map<Expr, Expr>& known) {
  return rewrite(
      s,
      [&](const Binary& b, auto& self) -> Expr {
        const auto found = known.find(Expr::of(b));
        if (found != known.end()) return self(found->second);
        const Expr x = self(b.a), y = self(b.b);
        return x == b.a && y == b.b ? Expr::of(b) : binary(b.op, x, y);
      },
      [](const Unary& u, auto& self) -> Expr {
        const Expr x = self(u.a);
        return x == u.a ? Expr::of(u) : unary(u.op, x);
      },
      [](const Guard& g, auto& self) -> Expr {
        const Expr cond = self(g.cond);
        return is_true(cond) ? self(g.yes) : is_false(cond) ? self(g.no) : self.children(g);
      },
      [](const Select& g, auto& self) -> Expr {
        const Expr cond = self(g.cond);
        return is_true(cond) ? self(g.yes) : is_false(cond) ? self(g.no) : self.children(g);
      },
      [](const If& branch, auto& self) -> Stmt {
        const Expr cond = self(branch.cond);
        if (is_true(cond)) return self(branch.yes);
        if (is_false(cond)) return branch.no ? self(branch.no) : nothing();
        return self.children(branch);
      });
}

int64_t size_of(const Stmt& s) {
  int64_t n = s.as<Seq>() ? 0 : 1;
  for_each_child(s, [](const Expr&) {}, [&](const Stmt& c) { n += size_of(c); });
  return n;
}

class Partitioner {
 public:
  Partitioner(const LoopFunc& func, int64_t limit)
      : facts_(func), left_(limit - size_of(func.body)) {}

  Stmt run(const Stmt& s) {
    return rewrite(
        s, [&](const For& loop, auto&) -> Stmt { return partition(loop); },
        [&](const Let& let, auto& self) -> Stmt {
          return facts_.inside(let, [&] { return self.children(let); });
        },
        [&](const If& s, auto& self) -> Stmt {
          return with(s, [&](If& out) {
            out.yes = facts_.where(s.cond, [&] { return self(s.yes); });
            if (s.no) out.no = facts_.where(logical_not(s.cond), [&] { return self(s.no); });
          });
        });
  }

 private:
  Stmt descend(const For& loop) {
    if (is_const(loop.extent, 1) && loop.loop == ForKind::Serial)
      return run(substitute(loop.body, loop.var, loop.min));
    const bool together = loop.loop == ForKind::Vectorized || loop.loop == ForKind::Bound;
    if (together) lanes_.push_back(loop.var);
    const Stmt out =
        facts_.inside(loop, [&] { return with(loop, [&](For& f) { f.body = run(loop.body); }); });
    if (together) lanes_.pop_back();
    return out;
  }

  Stmt partition(const For& loop) {
    if (loop.loop != ForKind::Serial && loop.loop != ForKind::Parallel) return descend(loop);
    const Steady steady = Finder(loop, lanes_, facts_.here()).result();
    const int64_t copies =
        loop.loop == ForKind::Parallel ? 1 : !steady.begins.empty() + !steady.ends.empty();
    const int64_t growth = copies * size_of(loop.body);
    if (steady.known.empty() && loop.loop == ForKind::Parallel) return by_remainder(loop);
    if (steady.known.empty() || growth > left_) return descend(loop);

    const Expr first = loop.min, last = loop.min + loop.extent;
    Expr begin = first, end = last;
    for (const Expr& b : steady.begins) begin = max(begin, b);
    for (const Expr& e : steady.ends) end = min(end, e);
    begin = simplified(min(begin, last));
    end = simplified(max(end, begin));
    if (!pays(loop, begin, end)) return one_by_one(*shortened(loop).as<For>());
    left_ -= growth;

    const Stmt clean = with_known(loop.body, steady.known);
    if (loop.loop == ForKind::Parallel)
      return choose(loop, loop.var, begin, end, clean,
                    steady.begins.empty() ? tail(loop, steady) : loop.body);
    std::vector<Stmt> parts;
    const auto part = [&](const Expr& from, const Expr& to, const Stmt& body) {
      const Expr extent = simplified(to - from);
      if (const auto n = const_int(extent); n && *n <= 0) return;
      const Stmt piece = with(loop, [&](For& out) {
        out.min = from;
        out.extent = extent;
        out.body = body;
      });
      parts.push_back(descend(*piece.as<For>()));
    };
    if (!steady.begins.empty()) part(first, begin, loop.body);
    part(begin, end, clean);
    if (!steady.ends.empty()) part(end, last, tail(loop, steady));
    return seq(std::move(parts), loop.span);
  }

  /// What the one iteration behind the others does: a tile that is cut short. Where it is by half
  /// or more, it has a body of its own that computes no more.
  ///   before   unrolled for r in 0..8 { s[r] += …   if v*8 + r < n { y[v*8 + r] = s[r] } }
  ///   after    if n - v*8 <= 2 { unrolled for r in 0..2 {…} } else {
  ///              if n - v*8 <= 4 { unrolled for r in 0..4 {…} } else {…} }
  Stmt tail(const For& loop, const Steady& steady) {
    constexpr int64_t kLeast = 4;
    if (!steady.cut || steady.cut->count < kLeast || const_int(loop.extent)) return loop.body;
    Stmt out = loop.body;
    for (const int64_t part : {2, 4}) {
      const int64_t size = size_of(loop.body), rest = (steady.cut->count + part - 1) / part;
      if (size > left_) break;
      left_ -= size;
      const Expr is_short = substitute(steady.cut->beyond, steady.cut->at, Expr(rest)) < 0;
      const Stmt shorter = facts_.inside(loop, [&] {
        return facts_.where(
            is_short, [&] { return without_idle_iterations(loop.body, rest, facts_.here()); });
      });
      out = make_stmt<If>(loop.span, is_short, shorter, out);
    }
    return out;
  }

  /// One parallel loop stays one: its iterations choose.
  Stmt choose(const For& loop, const Expr& at, const Expr& begin, const Expr& end,
              const Stmt& clean, const Stmt& other) {
    return facts_.inside(loop, [&] {
      const Expr inside = simplified(logical_and(begin <= at, at < end));
      const Stmt yes = facts_.where(inside, [&] { return run(clean); });
      if (is_true(inside)) return with(loop, [&](For& out) { out.body = yes; });
      const Stmt no = facts_.where(logical_not(inside), [&] { return run(other); });
      return with(loop, [&](For& out) { out.body = make_stmt<If>(loop.span, inside, yes, no); });
    });
  }

  /// Without iterations at the end that do nothing.
  Stmt shortened(const For& loop) const {
    const auto extent = const_int(loop.extent);
    if (loop.loop != ForKind::Serial || !extent) return Stmt::of(loop);
    return with(loop,
                [&](For& f) { f.extent = Expr(needed_iterations(loop, *extent, facts_.here())); });
  }

  /// A few iterations that are all borders: each by itself, so that it knows what it tests.
  Stmt one_by_one(const For& loop) {
    constexpr int64_t kFew = 4;
    const auto count = const_int(loop.extent);
    if (loop.loop != ForKind::Serial || !count || *count > kFew ||
        (*count - 1) * size_of(loop.body) > left_)
      return descend(loop);
    left_ -= (*count - 1) * size_of(loop.body);
    std::vector<Stmt> parts;
    for (int64_t i = 0; i < *count; ++i)
      parts.push_back(run(substitute(loop.body, loop.var, simplified(loop.min + i))));
    return seq(std::move(parts), loop.span);
  }

  /// A parallel loop that stands for several: the last of them is `v % n`.
  Stmt by_remainder(const For& loop) {
    Expr n;
    const auto is_remainder = [&](const Binary& b) {
      return b.op == BinaryOp::Mod && b.a == loop.var && (!n || equal(n, b.b)) &&
             !uses(b.b, loop.var) && !has_load(b.b) && is_outside_of(loop, b.b) &&
             facts_.here().can_prove(b.b >= 1);
    };
    walk(loop.body, [&](const Binary& b) {
      if (is_remainder(b)) n = b.b;
    });
    if (!n) return descend(loop);
    const Var last(loop.var.name() + "_last");
    const Stmt named = rewrite(loop.body, [&](const Binary& b, auto& self) -> Expr {
      return is_remainder(b) ? Expr(last) : self.children(b);
    });
    const Stmt as_loop = make_stmt<For>(loop.span, last, 0, n, named);
    const For& inner = *as_loop.as<For>();
    const Steady steady =
        facts_.inside(loop, [&] { return Finder(inner, lanes_, facts_.here()).result(); });
    Expr begin = 0, end = n;
    for (const Expr& b : steady.begins) begin = max(begin, b);
    for (const Expr& e : steady.ends) end = min(end, e);
    const int64_t growth = size_of(loop.body);
    if (steady.known.empty() || growth > left_ || uses(begin, loop.var) || uses(end, loop.var) ||
        !pays(inner, begin, end))
      return descend(loop);
    left_ -= growth;
    const Expr remainder = loop.var % n;
    return choose(loop, remainder, simplified(begin), simplified(end),
                  substitute(with_known(named, steady.known), last, remainder), loop.body);
  }

  /// Is the value known before the loop?
  static bool is_outside_of(const For& loop, const Expr& e) {
    const auto vars = vars_of(e);
    bool bound = false;
    const auto check = [&](const Var& v) { bound = bound || vars.contains(v); };
    walk(loop.body, [&](const For& f) { check(f.var); }, [&](const Let& l) { check(l.var); });
    return !bound;
  }

  /// Worth it when at least half of the iterations lose their tests, as far as that is known.
  bool pays(const For& loop, const Expr& begin, const Expr& end) const {
    const auto all = const_int(loop.extent), steady = const_int(simplified(end - begin));
    if (steady && *steady <= 0) return false;
    return !all || !steady || 2 * *steady >= *all;
  }

  Expr simplified(const Expr& e) const { return facts_.here().simplify(e); }

  Facts facts_;
  std::vector<Var> lanes_;
  int64_t left_;  // statements that may still be added
};

}  // namespace

/// Splits loops so that conditions on their variables hold for all of the middle part, which then
/// carries no test; the borders keep theirs, or stand by themselves where they are few; those at
/// the end that do nothing are left out. A parallel loop stays one loop whose iterations choose,
/// also by the last of several loops that it stands for.
///   before   for i in 0..n { y[i] = guard(0 <= i - 1 && i + 1 < n, x[i - 1] + x[i + 1], 0.0) }
///   after    for i in 0..1 { …guarded… }
///            for i in 1..n - 1 { y[i] = x[i - 1] + x[i + 1] }
///            for i in n - 1..n { …guarded… }
/// Serves the tails of split loops, borders of convolutions and the first step of reductions.
/// Needs:  no blocks.
/// Leaves: the same statements in the same order of iterations; loops of one iteration disappear.
LoopFunc partition(const LoopFunc& func, PassContext& context) {
  require_no_blocks(func, "partition");
  return func.with_body(Partitioner(func, context.limits.max_partitioned).run(func.body));
}

}  // namespace tilewright::lower
