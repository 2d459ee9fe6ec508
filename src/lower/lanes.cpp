// SPDX-License-Identifier: Apache-2.0
#include "lower/lanes.h"

#include <algorithm>

namespace tilewright::lower {
namespace {

using namespace ir;

/// A vector as base + lane * stride, or null where it is not one.
struct Line {
  Expr base, stride;
  explicit operator bool() const { return static_cast<bool>(base); }
};

Line line_of(const Expr& e) {
  const Expr zero = e.type().is_int() ? int_imm(e.type().elem, 0) : Expr();
  if (!zero) return {};
  if (const Ramp* r = e.as<Ramp>()) return {r->base, r->stride};
  if (const Broadcast* b = e.as<Broadcast>()) return {b->value, zero};
  if (!e.type().is_vector()) return {e, zero};
  return {};
}

Expr vector_of(const Expr& base, const Expr& stride, int lanes) {
  if (is_const(stride, 0)) return broadcast(base, lanes);
  return make<Ramp>({}, base, stride, lanes);
}

/// Both sides are broadcasts or scalars: compute once, then broadcast.
Expr uniform_part(const Expr& e) {
  if (const Broadcast* b = e.as<Broadcast>()) return b->value;
  return e.type().is_vector() ? Expr() : e;
}

Expr linear(BinaryOp op, const Expr& a, const Expr& b, int lanes) {
  const Line x = line_of(a), y = line_of(b);
  if (!x || !y) return {};
  switch (op) {
    case BinaryOp::Add: return vector_of(x.base + y.base, x.stride + y.stride, lanes);
    case BinaryOp::Sub: return vector_of(x.base - y.base, x.stride - y.stride, lanes);
    case BinaryOp::Mul:
      if (is_const(y.stride, 0)) return vector_of(x.base * y.base, x.stride * y.base, lanes);
      if (is_const(x.stride, 0)) return vector_of(x.base * y.base, x.base * y.stride, lanes);
      return {};
    default: return {};
  }
}

/// All of `parts` as vectors when one is.
void align(std::initializer_list<Expr*> parts) {
  int lanes = 1;
  for (const Expr* e : parts) lanes = std::max(lanes, e->type().lanes);
  for (Expr* e : parts) *e = broadcast(*e, lanes);
}

Expr widen_guard(const Guard& g, const Widening& w, const Expr& mask) {
  Expr cond = widen(g.cond, w, mask);
  if (!cond.type().is_vector()) {
    Expr yes = widen(g.yes, w, mask), no = widen(g.no, w, mask);
    align({&yes, &no});
    return make<Guard>(g.span, cond, yes, no);
  }
  const Expr on = mask ? lane_binary(BinaryOp::And, mask, cond) : cond;
  const Expr not_cond = make<Unary>({}, UnaryOp::Not, cond);
  const Expr off = mask ? lane_binary(BinaryOp::And, mask, not_cond) : not_cond;
  const auto side = [&](const Expr& e, const Expr& lanes_on) {
    const Expr value = broadcast(widen(e, w, lanes_on), w.lanes);
    if (!has_uniform_load(e, w)) return value;
    // A load that is the same in every lane happens only when some lane asks for it.
    const Expr none = broadcast(imm(value.type().elem, 0), w.lanes);
    return make<Guard>(g.span, make<VectorReduce>({}, BinaryOp::Or, lanes_on), value, none);
  };
  return make<Select>(g.span, cond, side(g.yes, on), side(g.no, off));
}

}  // namespace

Expr lane_binary(BinaryOp op, const Expr& a, const Expr& b) {
  const int lanes = std::max(a.type().lanes, b.type().lanes);
  if (lanes == 1) return binary(op, a, b);
  const Expr x = uniform_part(a), y = uniform_part(b);
  if (x && y) return broadcast(binary(op, x, y), lanes);
  if (Expr e = linear(op, a, b, lanes)) return e;
  return make<Binary>({}, op, broadcast(a, lanes), broadcast(b, lanes));
}

Expr lane_numbers(int lanes) { return make<Ramp>({}, Expr(0), Expr(1), lanes); }

Expr widen(const Expr& e, const Widening& w, const Expr& mask) {
  return rewrite(
      e,
      [&](const VarNode& v, auto&) -> Expr {
        const auto found = w.vectors.find(Var::of(v));
        return found == w.vectors.end() ? Expr::of(v) : found->second;
      },
      [](const Binary& b, auto& self) -> Expr {
        const Expr x = self(b.a), y = self(b.b);
        return x == b.a && y == b.b ? Expr::of(b) : lane_binary(b.op, x, y);
      },
      [](const Call& c, auto& self) -> Expr {
        std::vector<Expr> args;
        int lanes = 1;
        for (const Expr& arg : c.args) {
          args.push_back(self(arg));
          lanes = std::max(lanes, args.back().type().lanes);
        }
        for (Expr& arg : args) arg = broadcast(arg, lanes);
        return args == c.args ? Expr::of(c) : make<Call>(c.span, c.fn, std::move(args));
      },
      [](const Select& s, auto& self) -> Expr {
        Expr cond = self(s.cond), yes = self(s.yes), no = self(s.no);
        align({&yes, &no});
        if (cond.type().is_vector()) align({&cond, &yes, &no});
        if (cond == s.cond && yes == s.yes && no == s.no) return Expr::of(s);
        return make<Select>(s.span, cond, yes, no);
      },
      [&](const Guard& g, auto&) -> Expr {
        return varies(Expr::of(g), w) ? widen_guard(g, w, mask) : Expr::of(g);
      },
      [&](const Load& l, auto&) -> Expr {
        if (!varies(Expr::of(l), w)) return Expr::of(l);
        const auto copy = w.per_lane.find(l.buffer);
        const Buffer& buffer = copy == w.per_lane.end() ? l.buffer : copy->second;
        const Expr own = l.mask ? widen(l.mask, w, mask) : Expr();
        Expr lanes_on = own && mask ? lane_binary(BinaryOp::And, own, mask) : own ? own : mask;
        if (lanes_on) lanes_on = broadcast(lanes_on, w.lanes);
        return make<Load>(l.span, buffer, widen_indices(l.buffer, l.indices, w, mask), lanes_on,
                          l.rank);
      });
}

std::vector<Expr> widen_indices(const Buffer& buffer, const std::vector<Expr>& indices,
                                const Widening& w, const Expr& mask) {
  std::vector<Expr> out;
  for (const Expr& index : indices) out.push_back(widen(index, w, mask));
  if (w.per_lane.contains(buffer)) out.push_back(lane_numbers(w.lanes));
  return out;
}

bool varies(const Expr& e, const Widening& w) {
  bool found = false;
  walk(
      e, [&](const VarNode& v) { found = found || w.vectors.contains(Var::of(v)); },
      [&](const Load& l) { found = found || w.per_lane.contains(l.buffer); });
  return found;
}

bool has_uniform_load(const Expr& e, const Widening& w) {
  bool found = false;
  walk(e, [&](const Load& l) { found = found || !varies(Expr::of(l), w); });
  return found;
}

}  // namespace tilewright::lower
