// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "ir/print.h"
#include "lower/access.h"
#include "lower/facts.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "lower/updates.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

namespace {

[[noreturn]] void refuse(std::string_view code, const For& loop, const Span& at, std::string why,
                         std::string help) {
  throw Error({.code = code,
               .at = at.line ? at : loop.span,
               .message = str("cannot vectorize `", loop.var.name(), "`"),
               .notes = {std::move(why)},
               .help = std::move(help)});
}

/// May lanes of the update be combined with each other before they reach the target?
bool can_reduce_lanes(const ReducerNode& r) {
  const auto op = single_op(r);
  return op == BinaryOp::Add || op == BinaryOp::Mul || op == BinaryOp::Min || op == BinaryOp::Max ||
         op == BinaryOp::And || op == BinaryOp::Or;
}

std::string place(const Access& a) {
  return str(a.writes ? "a write of `" : "a read of `", a.buffer->name, "`",
             a.stmt->span.line ? str(" in line ", a.stmt->span.line) : "");
}

/// Is the place of `a` the same in every iteration?
bool same_place(const Access& a, const Var& var) {
  std::unordered_set<Var> varying{var};
  const auto depends = [&](const Expr& e) {
    return has_load(e) ||
           std::ranges::any_of(vars_of(e), [&](const Var& v) { return varying.contains(v); });
  };
  for (const Around& around : a.around)
    if (around.var && around.value && depends(around.value)) varying.insert(around.var);
  return std::ranges::none_of(a.box, [&](const Range& r) { return depends(r.min); });
}

/// Throws unless no two iterations touch one element, but for updates of one reducer.
void check_independent(const For& loop, const arith::Context& outside) {
  const std::unordered_set<Buffer> own = allocated_in(loop.body);
  std::vector<Access> shared = accesses_of(loop.body);
  std::erase_if(shared, [&](const Access& a) { return own.contains(a.buffer); });
  const AcrossIterations across(loop, shared, outside);
  for (size_t i = 0; i < shared.size(); ++i) {
    for (size_t j = i; j < shared.size(); ++j) {
      const Access &a = shared[i], &b = shared[j];
      if (a.buffer != b.buffer || !(a.writes || b.writes)) continue;
      // Terms of one target may be combined in any order; one vector must not name it twice,
      // though.
      const bool commute = a.reducer && a.reducer == b.reducer && can_reduce_lanes(*a.reducer);
      if (commute && (i != j || same_place(a, loop.var))) continue;
      if (across.disjoint(a, b)) continue;
      if (a.reducer && i == j && same_place(a, loop.var))
        refuse("lower.vectorize.reducer", loop, a.stmt->span,
               str("its iterations combine into one element of `", a.buffer->name, "`, and `",
                   a.reducer->name, "` is not a single operator"),
               "use rfactor to give each lane a partial result of its own");
      refuse("lower.vectorize.conflict", loop, a.stmt->span,
             str("no proof that ", place(a), i == j ? " touches" : str(" and ", place(b), " touch"),
                 " different elements in different iterations"),
             "vectorize a loop whose iterations are independent");
    }
  }
}

/// One vectorised loop, `lanes` iterations at once from `base` on.
class Lanes {
 public:
  Lanes(const For& loop, const Expr& base, int lanes, const arith::Context& outside)
      : loop_(loop), facts_(outside), own_(allocated_in(loop.body)) {
    w_.lanes = lanes;
    w_.vectors[loop.var] = make<Ramp>(loop.span, base, Expr(1), lanes);
    first_lane_ = {{loop.var, base}};
    do {
      grew_ = false;
      find_varying(loop.body, false);
    } while (grew_);
  }

  Stmt run() { return stmt(loop_.body, {}); }

 private:
  /// Finds the lets and own buffers that differ between lanes; `masked` below an `if` that does.
  void find_varying(const Stmt& s, bool masked) {
    const auto touch = [&](const Buffer& b, const std::vector<Expr>& indices, bool value_varies) {
      if (!own_.contains(b) || w_.per_lane.contains(b)) return;
      const bool any = std::ranges::any_of(indices, [&](const Expr& e) { return varies(e, w_); });
      if (masked || value_varies || any) {
        w_.per_lane[b] = with_lane_dimension(b);
        grew_ = true;
      }
    };
    if (const Let* let = s.as<Let>()) {
      if (!w_.vectors.contains(let->var) && varies(let->value, w_)) {
        w_.vectors[let->var] =
            Var(let->var.name(), let->var.type().with_lanes(w_.lanes), let->var->span);
        grew_ = true;
      }
    } else if (const Store* store = s.as<Store>()) {
      touch(store->buffer, store->indices, varies(store->value, w_));
    } else if (const Update* u = s.as<Update>()) {
      const bool any = std::ranges::any_of(u->values, [&](const Expr& e) { return varies(e, w_); });
      for (const Target& t : u->targets) touch(t.buffer, t.indices, any);
    } else if (const If* branch = s.as<If>()) {
      masked = masked || varies(branch->cond, w_);
    }
    for_each_child(s, [](const Expr&) {}, [&](const Stmt& c) { find_varying(c, masked); });
  }

  Buffer with_lane_dimension(const Buffer& b) const {
    std::vector<Expr> shape = b->shape;
    shape.push_back(w_.lanes);
    Layout layout = b->layout;
    if (layout) {
      auto wider = std::make_shared<LayoutNode>(*layout);
      const Var lane("lane");
      wider->indices.push_back(lane);
      wider->dims.push_back({PhysKind::Address, lane, w_.lanes});
      layout = Layout(std::move(wider));
    }
    return make_buffer(b->name, b->elem, std::move(shape), b->scope, layout, b->alignment, b->span);
  }

  Stmt stmt(const Stmt& s, const Expr& mask) {
    return visit(s, [&](const auto& node) { return one(node, mask); });
  }
  Stmt maybe(const Stmt& s, const Expr& mask) { return s ? stmt(s, mask) : s; }

  bool varies_at(const Buffer& b, const std::vector<Expr>& indices) const {
    return w_.per_lane.contains(b) ||
           std::ranges::any_of(indices, [&](const Expr& e) { return varies(e, w_); });
  }
  const Buffer& buffer(const Buffer& b) const {
    const auto copy = w_.per_lane.find(b);
    return copy == w_.per_lane.end() ? b : copy->second;
  }
  Expr vector(const Expr& e, const Expr& mask) const {
    return broadcast(widen(e, w_, mask), w_.lanes);
  }

  Stmt one(const Store& s, const Expr& mask) {
    if (s.mask || s.rank) refuse_stmt(s, "a store with a mask or rank of its own stands in it");
    if (!varies_at(s.buffer, s.indices))
      return Stmt::of(s);  // of an own buffer, the same in every lane
    return make_stmt<Store>(s.span, buffer(s.buffer), widen_indices(s.buffer, s.indices, w_, mask),
                            vector(s.value, mask), mask);
  }

  Stmt one(const Update& u, const Expr& mask) {
    size_t varying = 0;
    for (const Target& t : u.targets) varying += varies_at(t.buffer, t.indices);
    if (varying == 0) return own_.contains(u.targets[0].buffer) ? Stmt::of(u) : reduce(u, mask);
    if (varying != u.targets.size())
      refuse_stmt(u, str("the targets of one update of `", u.targets[0].buffer->name,
                         "` differ in whether they depend on it"));
    std::vector<Target> targets;
    std::vector<Expr> values;
    for (const Target& t : u.targets)
      targets.push_back({buffer(t.buffer), widen_indices(t.buffer, t.indices, w_, mask)});
    for (const Expr& v : u.values) values.push_back(vector(v, mask));
    const Stmt update = make_stmt<Update>(u.span, u.reducer, std::move(targets), std::move(values));
    return mask ? expand_update(*update.as<Update>(), mask) : update;
  }

  /// All lanes into one element: c[] sum= v  ->  c[] sum= reduce_add(v).
  Stmt reduce(const Update& u, const Expr& mask) {
    Expr value = vector(u.values[0], mask);
    if (mask)
      value = make<Select>(u.span, mask, value, broadcast(u.reducer->identity[0], w_.lanes));
    return with(u, [&](Update& out) {
      out.values = {make<VectorReduce>(u.span, *single_op(*u.reducer), value)};
    });
  }

  Stmt one(const Seq& s, const Expr& mask) {
    std::vector<Stmt> stmts;
    for (const Stmt& inner : s.stmts) stmts.push_back(stmt(inner, mask));
    return seq(std::move(stmts), s.span);
  }

  Stmt one(const Let& let, const Expr& mask) {
    return facts_.inside(let, [&] {
      const auto wide = w_.vectors.find(let.var);
      if (wide == w_.vectors.end())
        return make_stmt<Let>(let.span, let.var, let.value, stmt(let.body, mask));
      const Var var = Var::of(*wide->second.as<VarNode>());
      return make_stmt<Let>(let.span, var, vector(let.value, mask), stmt(let.body, mask));
    });
  }

  Stmt one(const Alloc& a, const Expr& mask) {
    return make_stmt<Alloc>(a.span, buffer(a.buffer), stmt(a.body, mask));
  }

  Stmt one(const For& f, const Expr& mask) {
    if (f.loop != ForKind::Serial && f.loop != ForKind::Unrolled)
      refuse("lower.vectorize.nested", loop_, f.span,
             str("the ", name(f.loop), " loop `", f.var.name(), "` stands inside"),
             "vectorize an innermost loop, or fuse the two first");
    if (varies(f.min, w_) || varies(f.extent, w_))
      refuse("lower.vectorize.inner_extent", loop_, f.span,
             str("the number of iterations of `", f.var.name(), "` inside depends on it"),
             "make the inner loop's extent the same for all iterations");
    return facts_.inside(f,
                         [&] { return with(f, [&](For& out) { out.body = stmt(f.body, mask); }); });
  }

  Stmt one(const If& s, const Expr& mask) {
    if (!varies(s.cond, w_)) {
      return with(s, [&](If& out) {
        out.yes = facts_.where(s.cond, [&] { return stmt(s.yes, mask); });
        out.no = maybe(s.no, mask);
      });
    }
    const Var cond("mask", Type{Elem::Bool, w_.lanes}, s.span);
    Stmt body = masked(s.yes, both_lanes(mask, cond), s.cond);
    if (s.no) {
      const Expr other = make<Unary>(s.span, UnaryOp::Not, cond);
      body = seq({body, masked(s.no, both_lanes(mask, other), logical_not(s.cond))}, s.span);
    }
    return make_stmt<Let>(s.span, cond, vector(s.cond, mask), body);
  }

  static Expr both_lanes(const Expr& a, const Expr& b) {
    return a ? make<Binary>({}, BinaryOp::And, a, b) : b;
  }

  /// The lanes of `mask` run `s`. What is the same in every lane may happen only if one lane is on.
  Stmt masked(const Stmt& s, const Expr& mask, const Expr& cond) {
    const bool outer = first_lane_on_;
    first_lane_on_ = outer && facts_.here().can_prove(substitute(cond, first_lane_));
    Stmt body = stmt(s, mask);
    bool uniform = false;
    for_each_expr(s, [&](const Expr& e) { uniform = uniform || has_uniform_load(e, w_); });
    // So is the one element that all lanes reduce into.
    walk(s, [&](const Update& u) {
      for (const Target& t : u.targets) uniform = uniform || !varies_at(t.buffer, t.indices);
    });
    if (uniform && !first_lane_on_)
      body = make_stmt<If>(s->span, make<VectorReduce>(s->span, BinaryOp::Or, mask), body);
    first_lane_on_ = outer;
    return body;
  }

  template <class F>
  static void for_each_expr(const Stmt& s, const F& f) {
    for_each_child(s, [&](const Expr& e) { f(e); }, [&](const Stmt& c) { for_each_expr(c, f); });
  }

  /// Has no effect on any value: the first lane's line is asked for, of what is not the lanes' own.
  Stmt one(const Prefetch& p, const Expr&) {
    return own_.contains(p.buffer) ? nothing() : substitute(Stmt::of(p), first_lane_);
  }

  Stmt one(const While& s, const Expr&) { refuse_stmt(s, "a `while` stands inside"); }
  Stmt one(const Atomic& s, const Expr&) { refuse_stmt(s, "an atomic operation stands inside"); }
  Stmt one(const InstrCall& s, const Expr&) {
    refuse_stmt(s, str("a call of instruction `", s.instr->name, "` stands inside"));
  }
  Stmt one(const Block& s, const Expr&) {
    refuse_stmt(s, str("block `", s.name, "` stands inside"));
  }
  Stmt one(const StmtNode& s, const Expr&) {
    refuse_stmt(s, "agents, channels or barriers stand inside");
  }

  [[noreturn]] void refuse_stmt(const StmtNode& s, std::string why) const {
    refuse("lower.vectorize.body", loop_, s.span, std::move(why),
           "leave the loop serial, or vectorize another one");
  }

  const For& loop_;
  Facts facts_;
  std::unordered_set<Buffer> own_;  // private to an iteration
  Widening w_;
  VarMap first_lane_;
  bool first_lane_on_ = true;  // here the first lane is known to run
  bool grew_ = false;
};

/// Throws unless every expression of the body is one that `widen` takes.
void check_scalar(const For& loop) {
  const auto check = [&](const Expr& e) {
    if (e.type().is_vector() || e.as<VectorReduce>())
      refuse("lower.vectorize.nested", loop, e->span, "vectors stand inside already",
             "vectorize an innermost loop, or fuse the two first");
  };
  walk(
      loop.body, [&](const Ramp& e) { check(Expr::of(e)); },
      [&](const Broadcast& e) { check(Expr::of(e)); },
      [&](const VectorReduce& e) { check(Expr::of(e)); },
      [&](const VarNode& e) { check(Expr::of(e)); },
      [&](const Load& e) {
        if (e.rank)
          refuse("lower.vectorize.body", loop, e.span,
                 str("`", e.buffer->name, "` of another block is read inside"),
                 "leave the loop serial, or vectorize another one");
      });
}

/// `lanes` iterations from `base` on.
Stmt iterations(const For& loop, const Expr& base, int64_t lanes, const arith::Context& outside) {
  if (lanes == 1) return substitute(loop.body, loop.var, base);
  return Lanes(loop, base, static_cast<int>(lanes), outside).run();
}

/// `if v < c { S }` as the whole body, v from 0 on: how many iterations run at all, when they fill
/// a vector of their own. A single one has no lanes left that its index could tell apart, so it is
/// found whatever the condition looks like.
std::optional<int64_t> running(const For& loop, const arith::Context& outside) {
  const If* branch = loop.body.as<If>();
  if (!branch || branch->no || !is_const(loop.min, 0)) return {};
  const Binary* test = branch->cond.as<Binary>();
  if (test && test->op == BinaryOp::Lt && test->a == loop.var)
    if (const auto count = const_int(test->b);
        count && *count > 0 && std::has_single_bit(static_cast<uint64_t>(*count)))
      return count;
  arith::Context inside(outside);
  inside.bind(loop.var, loop.min, loop.extent);
  inside.assume(branch->cond);
  return inside.can_prove(Expr(loop.var) <= 0) ? std::optional<int64_t>(1) : std::nullopt;
}

Stmt vectorize_loop(const For& loop, const Limits& limits, const arith::Context& outside) {
  const std::optional<int64_t> extent = const_int(loop.extent);
  if (const auto count = running(loop, outside); count && extent && *count < *extent) {
    if (*count == 1) return substitute(loop.body, loop.var, loop.min);
    const Stmt shorter = with(loop, [&](For& f) {
      f.extent = *count;
      f.body = loop.body.as<If>()->yes;
    });
    return vectorize_loop(*shorter.as<For>(), limits, outside);
  }
  if (!extent)
    refuse("lower.vectorize.extent", loop, loop.span,
           str("its extent ", print(loop.extent), " is not a constant"),
           "split the loop by a constant and vectorize the inner part");
  check_scalar(loop);
  if (*extent > 1) check_independent(loop, outside);

  std::vector<Stmt> parts;
  int64_t done = 0;
  const int64_t widest = limits.max_lanes, chunks = std::max<int64_t>(0, *extent) / widest;
  if (chunks > 1) {
    const Var chunk(loop.var.name(), kIndex, loop.var->span);
    arith::Context inside(outside);
    inside.bind(chunk, 0, chunks);
    const Stmt body = iterations(loop, loop.min + chunk * widest, widest, inside);
    parts.push_back(make_stmt<For>(loop.span, chunk, Expr(0), Expr(chunks), body));
    done = chunks * widest;
  }
  while (done < *extent) {
    const auto left = static_cast<uint64_t>(*extent - done);
    const int64_t lanes = std::min<int64_t>(widest, std::bit_floor(left));
    parts.push_back(iterations(loop, loop.min + done, lanes, outside));
    done += lanes;
  }
  return seq(std::move(parts), loop.span);
}

}  // namespace

/// Replaces each vectorised loop by operations on all its lanes at once, after a proof that the
/// order of its iterations does not matter.
///   before   vectorized for j in 0..8 { if b + j < n { c[b + j] = a[b + j] * s[] } }
///   after    let mask = ramp(b, 1, 8) < broadcast(n, 8)
///            c[ramp(b, 1, 8)] = a[ramp(b, 1, 8)] mask(mask) * broadcast(s[], 8) mask mask
/// An update whose target is the same in every lane combines the lanes first (reassociated):
///            s[] sum= a[j]   ->   s[] sum= reduce_add(a[ramp(0, 1, 8)])
/// A buffer allocated inside gets a dimension for the lane. Extents that are not powers of two, or
/// exceed `limits.max_lanes`, become several vectors.
/// Needs:  no blocks; constant extents.
/// Leaves: no vectorised loop in the function.
LoopFunc vectorize(const LoopFunc& func, PassContext& context) {
  require_no_blocks(func, "vectorize");
  Facts facts(func);
  return func.with_body(rewrite(
      func.body,
      [&](const For& loop, auto& self) -> Stmt {
        if (loop.loop == ForKind::Vectorized)
          return vectorize_loop(loop, context.limits, facts.here());
        return facts.inside(loop, [&] { return self.children(loop); });
      },
      [&](const Let& let, auto& self) -> Stmt {
        return facts.inside(let, [&] { return self.children(let); });
      },
      [&](const If& s, auto& self) -> Stmt {
        return with(s, [&](If& out) {
          out.yes = facts.where(s.cond, [&] { return self(s.yes); });
          out.no = self(s.no);
        });
      }));
}

}  // namespace tilewright::lower
