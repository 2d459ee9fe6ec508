// SPDX-License-Identifier: Apache-2.0
// Vectors, seen as scalars of a lane: a ramp is base + stride·lane, a broadcast its value, and what
// has no such form (a load, a variable) stands for itself. The scalar is simplified with
// 0 <= lane < lanes, then written as a vector again, as ramps and broadcasts wherever it is one:
//   ramp(16*x, 1, 16) / broadcast(16, 16)   →   (16*x + lane) / 16   →   x   →   broadcast(x, 16)
#include "arith/simplify.h"
#include "ir/build.h"
#include "ir/equal.h"

namespace tilewright::arith {

using ir::Expr;
using ir::ExprKind;

class Lanes {
 public:
  Lanes(Simplifier& simplifier, int lanes)
      : simplifier_(simplifier), solver_(simplifier.solver_), lanes_(lanes), lane_("lane") {}

  const ir::Var& lane() const { return lane_; }
  Expr to_scalar(const Expr& e);
  Expr to_vector(const Expr& e);

 private:
  Expr stand_in(const Expr& given);
  bool varies(const Expr& e);

  Simplifier& simplifier_;
  Solver& solver_;
  const int lanes_;
  const ir::Var lane_;
  std::vector<std::pair<ir::Var, Expr>> stand_ins_;
  std::unordered_map<Expr, bool> varies_;
};

/// A scalar variable in the place of a vector without a form of its own.
Expr Lanes::stand_in(const Expr& given) {
  const Expr e = simplifier_.simplify(given);
  if (e->kind != given->kind) return to_scalar(e);
  for (const auto& [var, vector] : stand_ins_)
    if (ir::equal(vector, e)) return var;
  stand_ins_.emplace_back(ir::Var("v", e.type().scalar()), e);
  return stand_ins_.back().first;
}

Expr Lanes::to_scalar(const Expr& e) {
  if (!e.type().is_vector()) return e;
  switch (e->kind) {
    case ir::ExprKind::Broadcast: return e.as<ir::Broadcast>()->value;
    case ir::ExprKind::Ramp: {
      const ir::Ramp& r = *e.as<ir::Ramp>();
      if (r.base.type() != ir::kIndex) return stand_in(e);
      return r.base + r.stride * lane_;
    }
    case ir::ExprKind::Unary: {
      const ir::Unary& u = *e.as<ir::Unary>();
      return ir::unary(u.op, to_scalar(u.a));
    }
    case ir::ExprKind::Binary: {
      const ir::Binary& b = *e.as<ir::Binary>();
      return ir::binary(b.op, to_scalar(b.a), to_scalar(b.b));
    }
    case ir::ExprKind::Call: {
      const ir::Call& c = *e.as<ir::Call>();
      std::vector<Expr> args;
      for (const Expr& a : c.args) args.push_back(to_scalar(a));
      return ir::call(c.fn, std::move(args));
    }
    case ir::ExprKind::Cast: {
      const ir::Cast& c = *e.as<ir::Cast>();
      return ir::make<ir::Cast>({}, c.to, to_scalar(c.value));
    }
    case ir::ExprKind::Reinterpret: {
      const ir::Reinterpret& r = *e.as<ir::Reinterpret>();
      return ir::make<ir::Reinterpret>({}, r.to, to_scalar(r.value));
    }
    case ir::ExprKind::Select: {
      const ir::Select& s = *e.as<ir::Select>();
      return ir::select(to_scalar(s.cond), to_scalar(s.yes), to_scalar(s.no));
    }
    default: return stand_in(e);
  }
}

bool Lanes::varies(const Expr& e) {
  if (const auto found = varies_.find(e); found != varies_.end()) return found->second;
  bool out = e == lane_;
  for (const auto& [var, vector] : stand_ins_) out = out || e == var;
  if (!out) ir::for_each_child(e, [&](const Expr& c) { out = out || varies(c); });
  return varies_[e] = out;
}

Expr Lanes::to_vector(const Expr& e) {
  if (!varies(e)) return ir::broadcast(e, lanes_);
  for (const auto& [var, vector] : stand_ins_)
    if (e == var) return vector;
  if (e.type() == ir::kIndex) {
    // base + stride·lane
    const Expr base = ir::substitute(e, lane_, 0);
    const Expr stride = simplifier_.simplify(ir::substitute(e, lane_, 1) - base);
    if (!varies(base) && !varies(stride) &&
        solver_.wrapping_form(base + stride * lane_) == solver_.wrapping_form(e))
      return ir::make<ir::Ramp>({}, simplifier_.simplify(base), stride, lanes_);
  }
  switch (e->kind) {
    case ir::ExprKind::Unary: {
      const ir::Unary& u = *e.as<ir::Unary>();
      return ir::make<ir::Unary>({}, u.op, to_vector(u.a));
    }
    case ir::ExprKind::Binary: {
      const ir::Binary& b = *e.as<ir::Binary>();
      return ir::make<ir::Binary>({}, b.op, to_vector(b.a), to_vector(b.b));
    }
    case ir::ExprKind::Call: {
      const ir::Call& c = *e.as<ir::Call>();
      std::vector<Expr> args;
      for (const Expr& a : c.args) args.push_back(to_vector(a));
      return ir::make<ir::Call>({}, c.fn, std::move(args));
    }
    case ir::ExprKind::Cast: {
      const ir::Cast& c = *e.as<ir::Cast>();
      return ir::make<ir::Cast>({}, c.to, to_vector(c.value));
    }
    case ir::ExprKind::Reinterpret: {
      const ir::Reinterpret& r = *e.as<ir::Reinterpret>();
      return ir::make<ir::Reinterpret>({}, r.to, to_vector(r.value));
    }
    case ir::ExprKind::Select: {
      const ir::Select& s = *e.as<ir::Select>();
      const Expr cond = varies(s.cond) ? to_vector(s.cond) : s.cond;
      return ir::make<ir::Select>({}, cond, to_vector(s.yes), to_vector(s.no));
    }
    default: require(false, "a scalar of a lane has a node that no vector gave it"); return e;
  }
}

Expr Simplifier::vector(const Expr& e) {
  switch (e->kind) {
    case ExprKind::VarNode: return e;
    case ExprKind::Load: return vector_load(*e.as<ir::Load>());
    case ExprKind::Guard: return choice(e);
    case ExprKind::Broadcast: {
      const ir::Broadcast& b = *e.as<ir::Broadcast>();
      const Expr value = simplify(b.value);
      return value == b.value ? e : ir::broadcast(value, b.lanes);
    }
    case ExprKind::Ramp: {
      const ir::Ramp& r = *e.as<ir::Ramp>();
      const Expr base = simplify(r.base), stride = simplify(r.stride);
      if (ir::is_const(stride, 0)) return ir::broadcast(base, r.lanes);
      return base == r.base && stride == r.stride
                 ? e
                 : ir::make<ir::Ramp>(e->span, base, stride, r.lanes);
    }
    default: break;
  }
  Lanes lanes(*this, e.type().lanes);
  const Expr scalar = lanes.to_scalar(e);
  const Solver::Mark here = solver_.mark();
  auto memo = std::move(memo_);
  memo_.clear();
  solver_.bind(lanes.lane(), Interval{0, e.type().lanes - 1}, {});
  const Expr out = lanes.to_vector(simplify(scalar));
  solver_.rewind(here);
  memo_ = std::move(memo);
  memo_version_ = solver_.version();
  return out;
}

Interval Simplifier::lane_bounds(const Expr& e) {
  Lanes lanes(*this, e.type().lanes);
  const Expr scalar = lanes.to_scalar(e);
  if (!Solver::is_linear(scalar.type())) return range_of(scalar.type().elem);
  const Solver::Mark here = solver_.mark();
  solver_.bind(lanes.lane(), Interval{0, e.type().lanes - 1}, {});
  const Interval out = solver_.bounds(Poly(solver_.value(scalar)));
  solver_.rewind(here);
  return out;
}

Expr Simplifier::vector_load(const ir::Load& node) {
  const Expr mask = simplify(node.mask);
  const ir::Broadcast* uniform = mask ? mask.as<ir::Broadcast>() : nullptr;
  if (uniform && ir::is_false(uniform->value))
    return ir::broadcast(ir::imm(node.type.elem, 0), node.type.lanes);
  const Expr kept = uniform && ir::is_true(uniform->value) ? Expr() : mask;
  std::vector<Expr> indices;
  for (const Expr& i : node.indices) indices.push_back(simplify(i));
  const Expr rank = simplify(node.rank);
  if (!kept) {
    // All lanes read one element.
    std::vector<Expr> same;
    for (const Expr& i : indices) {
      const ir::Broadcast* b = i.as<ir::Broadcast>();
      if (b != nullptr || !i.type().is_vector()) same.push_back(b ? b->value : i);
    }
    if (same.size() == indices.size())
      return ir::broadcast(ir::make<ir::Load>(node.span, node.buffer, std::move(same), kept, rank),
                           node.type.lanes);
  }
  if (indices == node.indices && kept == node.mask && rank == node.rank) return Expr::of(node);
  return ir::make<ir::Load>(node.span, node.buffer, std::move(indices), kept, rank);
}

}  // namespace tilewright::arith
