// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "arith/context_facts.h"
#include "ir/rewrite.h"

namespace tilewright::arith {
namespace {

using ir::Expr;
using ir::Stmt;

/// Which memory a statement may change, so that facts about it do not outlive a write.
struct Writes {
  std::unordered_set<ir::Buffer> buffers;
  bool synchronises = false;  // others may write in between

  explicit Writes(const Stmt& s) {
    ir::walk(
        s, [&](const ir::Store& n) { buffers.insert(n.buffer); },
        [&](const ir::Update& n) {
          for (const ir::Target& t : n.targets) buffers.insert(t.buffer);
        },
        [&](const ir::InstrCall& n) {
          for (const ir::Region& r : n.operands) buffers.insert(r.buffer);
        },
        [&](const ir::Atomic& n) {
          buffers.insert(n.buffer);
          if (n.old) buffers.insert(n.old);
          synchronises = true;
        },
        [&](const ir::Barrier&) { synchronises = true; },
        [&](const ir::ChannelOp&) { synchronises = true; },
        [&](const ir::Async&) { synchronises = true; });
  }

  bool keeps(const Expr& e) const {
    bool kept = true;
    ir::walk(
        e, [&](const ir::Load& l) { kept = kept && !synchronises && !buffers.contains(l.buffer); });
    return kept;
  }
};

class StmtSimplifier {
 public:
  StmtSimplifier(Context::Facts& facts, const Stmt& whole)
      : solver_(facts.solver), simplifier_(facts.simplifier), writes_(whole) {}

  Stmt run(const Stmt& s) {
    if (!s) return s;
    switch (s->kind) {
      case ir::StmtKind::Store: return store(*s.as<ir::Store>());
      case ir::StmtKind::Let: return let(*s.as<ir::Let>());
      case ir::StmtKind::Alloc:
      case ir::StmtKind::ChannelScope: return scope(s);
      case ir::StmtKind::For: return loop(*s.as<ir::For>());
      case ir::StmtKind::While: return while_loop(*s.as<ir::While>());
      case ir::StmtKind::If: return branch(*s.as<ir::If>());
      case ir::StmtKind::Block: return block(*s.as<ir::Block>());
      case ir::StmtKind::Agents: return agents(*s.as<ir::Agents>());
      default: return children(s);
    }
  }

 private:
  Expr simple(const Expr& e) { return simplifier_.simplify(e); }

  Stmt children(const Stmt& s) {
    const auto expr = [&](const Expr& e) { return simple(e); };
    const auto stmt = [&](const Stmt& part) { return run(part); };
    const auto buffer = [](const ir::Buffer& b) { return b; };
    return ir::map_children(s, {expr, stmt, buffer});
  }

  /// Runs `body` with facts that are forgotten after it.
  template <class Body>
  auto scoped(Body&& body) {
    const Solver::Mark here = solver_.mark();
    auto out = body();
    solver_.rewind(here);
    return out;
  }

  void assume(const Expr& condition) {
    if (const ir::Binary* b = condition.as<ir::Binary>(); b && b->op == ir::BinaryOp::And) {
      assume(b->a);
      assume(b->b);
    } else if (writes_.keeps(condition)) {
      solver_.assume(condition);
    }
  }

  Stmt store(const ir::Store& s) {
    const Expr mask = simple(s.mask);
    if (mask && ir::is_false(lane_value(mask))) return ir::nothing();
    const auto rest = [&] { return children(Stmt::of(s)); };
    const bool scalar = mask && !mask.type().is_vector();
    const Stmt out = scoped([&] {
      if (scalar) assume(mask);
      return rest();
    });
    const ir::Store& done = *out.as<ir::Store>();
    if (!mask || !ir::is_true(lane_value(mask))) return out;
    // A mask that gives the access its lanes stays.
    bool has_lanes = scalar;
    for (const Expr& i : done.indices) has_lanes = has_lanes || i.type().is_vector();
    return has_lanes ? ir::with(done, [](ir::Store& n) { n.mask = {}; }) : out;
  }

  static const Expr& lane_value(const Expr& e) {
    const ir::Broadcast* b = e.as<ir::Broadcast>();
    return b ? b->value : e;
  }

  Stmt let(const ir::Let& s) {
    const Expr value = simple(s.value);
    const bool trivial =
        value.as<ir::VarNode>() || value.as<ir::IntImm>() || value.as<ir::FloatImm>();
    if (trivial) return run(ir::substitute(s.body, s.var, value));
    const Stmt body = scoped([&] {
      solver_.define(s.var, value);
      return run(s.body);
    });
    if (ir::is_nothing(body)) return body;
    if (!ir::uses(body, s.var)) return body;
    if (value == s.value && body == s.body) return Stmt::of(s);
    return ir::with(s, [&](ir::Let& n) {
      n.value = value;
      n.body = body;
    });
  }

  /// An allocation or channel without anything inside is nothing.
  Stmt scope(const Stmt& s) {
    const Stmt out = scoped([&] {
      if (const ir::Alloc* a = s.as<ir::Alloc>()) solver_.assume_size(*a->buffer);
      return children(s);
    });
    const ir::Alloc* a = out.as<ir::Alloc>();
    const Stmt& body = a ? a->body : out.as<ir::ChannelScope>()->body;
    return ir::is_nothing(body) ? body : out;
  }

  Stmt loop(const ir::For& s) {
    const Expr min = simple(s.min), extent = simple(s.extent);
    if (solver_.prove_nonneg(solver_.value(extent) * -1, kEffort)) return ir::nothing();
    const bool in_order = s.loop == ir::ForKind::Serial || s.loop == ir::ForKind::Unrolled;
    if (in_order && ir::is_const(extent, 1)) return run(ir::substitute(s.body, s.var, min));
    const Stmt body = scoped([&] {
      solver_.bind(s.var, min, extent);
      return run(s.body);
    });
    if (ir::is_nothing(body)) return body;
    if (min == s.min && extent == s.extent && body == s.body) return Stmt::of(s);
    return ir::with(s, [&](ir::For& n) {
      n.min = min;
      n.extent = extent;
      n.body = body;
    });
  }

  Stmt while_loop(const ir::While& s) {
    const Expr cond = simple(s.cond);
    if (ir::is_false(cond)) return ir::nothing();
    const Stmt body = scoped([&] {
      assume(cond);
      return run(s.body);
    });
    if (cond == s.cond && body == s.body) return Stmt::of(s);
    return ir::with(s, [&](ir::While& n) {
      n.cond = cond;
      n.body = body;
    });
  }

  Stmt branch(const ir::If& s) {
    const Expr cond = simple(s.cond);
    if (ir::is_true(cond)) return run(s.yes);
    if (ir::is_false(cond)) return s.no ? run(s.no) : ir::nothing();
    const Expr opposite = negated(cond) ? negated(cond) : ir::logical_not(cond);
    const Stmt yes = scoped([&] {
      assume(cond);
      return run(s.yes);
    });
    Stmt no = s.no;
    if (no) {
      no = scoped([&] {
        assume(opposite);
        return run(s.no);
      });
      if (ir::is_nothing(no)) no = {};
    }
    if (ir::is_nothing(yes)) {
      if (!no) return ir::nothing();
      return ir::make_stmt<ir::If>(s.span, opposite, no);
    }
    if (cond == s.cond && yes == s.yes && no == s.no) return Stmt::of(s);
    return ir::make_stmt<ir::If>(s.span, cond, yes, no);
  }

  /// The iterators stay as they are in the body, even those that have one value: they are how steps
  /// know what a block does.
  Stmt block(const ir::Block& s) {
    std::vector<ir::BlockIter> iters = s.iters;
    for (ir::BlockIter& i : iters) {
      i.extent = simple(i.extent);
      i.binding = simple(i.binding);
    }
    return scoped([&]() -> Stmt {
      for (const ir::BlockIter& i : iters) {
        solver_.keep(i.var);
        solver_.define(i.var, i.binding);
      }
      // The predicate decides whether there is an instance: before it, nothing is in its domain.
      const Expr predicate = simple(s.predicate);
      if (predicate && ir::is_false(predicate)) return ir::nothing();
      if (predicate) assume(predicate);
      for (const ir::BlockIter& i : iters) solver_.bind(i.var, 0, i.extent);
      ir::Block out = s;
      out.iters = iters;
      out.predicate = predicate && ir::is_true(predicate) ? Expr() : predicate;
      for (std::vector<ir::Region>* regions : {&out.reads, &out.writes})
        for (ir::Region& r : *regions) simplify_region(r);
      if (s.init) {
        out.init = scoped([&] {
          for (const ir::BlockIter& i : iters)
            if (i.kind == ir::IterKind::Reduction) solver_.assume(ir::eq(i.var, 0));
          return run(s.init);
        });
      }
      out.body = run(s.body);
      if (same(out, s)) return Stmt::of(s);
      return ir::with(s, [&](ir::Block& n) { n = std::move(out); });
    });
  }

  void simplify_region(ir::Region& r) {
    for (ir::Range& range : r.ranges) range = {simple(range.min), simple(range.extent)};
    r.rank = simple(r.rank);
  }

  static bool same(const std::vector<ir::Region>& a, const std::vector<ir::Region>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].rank != b[i].rank) return false;
      for (size_t d = 0; d < a[i].ranges.size(); ++d)
        if (a[i].ranges[d].min != b[i].ranges[d].min ||
            a[i].ranges[d].extent != b[i].ranges[d].extent)
          return false;
    }
    return true;
  }

  static bool same(const ir::Block& a, const ir::Block& b) {
    for (size_t i = 0; i < a.iters.size(); ++i)
      if (a.iters[i].extent != b.iters[i].extent || a.iters[i].binding != b.iters[i].binding)
        return false;
    return a.predicate == b.predicate && a.init == b.init && a.body == b.body &&
           same(a.reads, b.reads) && same(a.writes, b.writes);
  }

  Stmt agents(const ir::Agents& s) {
    std::vector<ir::Agent> out = s.agents;
    bool changed = false;
    for (ir::Agent& a : out) {
      const Stmt body = scoped([&] {
        if (a.index) solver_.bind(a.index, Interval{0, a.count - 1}, {});
        if (a.thread) solver_.bind(a.thread, Interval{0, a.threads - 1}, {});
        return run(a.body);
      });
      changed = changed || body != a.body;
      a.body = body;
    }
    if (!changed) return Stmt::of(s);
    return ir::with(s, [&](ir::Agents& n) { n.agents = std::move(out); });
  }

  static constexpr int kEffort = 32;
  Solver& solver_;
  Simplifier& simplifier_;
  const Writes writes_;
};

}  // namespace

Stmt simplify(const Stmt& s, const Context& outer) {
  Context::Facts facts(*outer.facts_);
  return StmtSimplifier(facts, s).run(s);
}

}  // namespace tilewright::arith
