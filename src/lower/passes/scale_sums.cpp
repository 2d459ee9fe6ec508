// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "arith/affine.h"
#include "ir/build.h"
#include "ir/reducer.h"
#include "ir/rewrite.h"
#include "lower/passes/passes.h"

namespace tilewright::lower {

using namespace ir;

namespace {

/// What a loop adds up, when that is all it does: S[at] sum= x * (q * scale).
struct Sums {
  const Update* update = nullptr;
  std::vector<const For*> tile;  // unrolled loops around it over different sums
  std::vector<Expr> conditions;  // of those of them that are there
  Expr x, q, scale;
};

/// The only update of a body, and the unrolled loops and conditions around it.
struct Nest {
  const Update* update = nullptr;
  std::vector<const For*> loops;
  std::vector<Expr> conditions;

  /// False where there is anything else.
  bool add(const Stmt& s) {
    if (const auto* seq = s.as<Seq>())
      return std::ranges::all_of(seq->stmts, [&](const Stmt& c) { return add(c); });
    if (s.as<Prefetch>()) return true;
    if (update) return false;
    update = s.as<Update>();
    if (update) return true;
    if (const auto* branch = s.as<If>()) {
      conditions.push_back(branch->cond);
      return !branch->no && add(branch->yes) && update;
    }
    const auto* loop = s.as<For>();
    if (!loop || loop->loop != ForKind::Unrolled || !const_int(loop->extent) ||
        !const_int(loop->min))
      return false;
    loops.push_back(loop);
    return add(loop->body) && update;
  }
};

bool mentions(const std::vector<Expr>& all, const Var& v) {
  return std::ranges::any_of(all, [&](const Expr& e) { return uses(e, v); });
}

bool reads(const Expr& e, const Buffer& buffer) {
  bool found = false;
  walk(e, [&](const Load& l) { found = found || l.buffer == buffer; });
  return found;
}

/// Does every iteration of these loops name elements of its own? It does where each has a dimension
/// for itself, and moves by a vector or more there.
bool each_by_itself(const std::vector<const For*>& tile, const std::vector<Expr>& indices) {
  for (const Expr& index : indices) {
    const auto* ramp = index.as<Ramp>();
    if (!ramp && index.type().lanes > 1) return false;
    const Expr base = ramp ? ramp->base : index;
    const auto moves =
        std::ranges::count_if(tile, [&](const For* l) { return uses(base, l->var); });
    if (moves == 0) continue;
    const auto form = arith::affine_of(base);
    if (!form || moves > 1 || (ramp && !is_const(ramp->stride, 1))) return false;
    for (const For* l : tile) {
      const bool alone = std::ranges::none_of(form->terms, [&](const arith::Affine::Term& t) {
        return t.expr != l->var && uses(t.expr, l->var);
      });
      if (uses(base, l->var) &&
          (!alone || std::abs(form->coefficient(l->var)) < index.type().lanes))
        return false;
    }
  }
  return std::ranges::all_of(tile, [&](const For* l) {
    return std::ranges::count_if(indices, [&](const Expr& e) { return uses(e, l->var); }) == 1;
  });
}

/// The lanes of the element that these indices name.
int lanes_of(const std::vector<Expr>& indices) {
  int lanes = 1;
  for (const Expr& e : indices) lanes = std::max<int>(lanes, e.type().lanes);
  return lanes;
}

/// Is it a number of a byte, a part of one, or a difference of such? A product with it goes as far
/// as one with the scale; one with any number could leave those that there are.
bool is_small(const Expr& q) {
  const ir::Elem elem = q.type().elem;
  if (!is_float(elem) && bits(elem) <= 8) return true;
  if (const auto* b = q.as<Broadcast>()) return is_small(b->value);
  if (const auto* c = q.as<FloatImm>()) return std::abs(c->value) <= 256;
  if (const auto n = const_int(q)) return std::abs(*n) <= 256;
  if (const auto* c = q.as<Cast>()) return !is_float(c->value.type().elem) && is_small(c->value);
  const auto* b = q.as<Binary>();
  if (!b) return false;
  if (b->op == BinaryOp::Shr) return is_small(b->a);
  if (b->op == BinaryOp::BitAnd) {
    const auto* mask = b->b.as<Broadcast>();
    const auto n = const_int(mask ? mask->value : b->b);
    return n && *n >= 0 && *n <= 256;
  }
  return (b->op == BinaryOp::Sub || b->op == BinaryOp::Add) && is_small(b->a) && is_small(b->b);
}

std::optional<Sums> sums_of(const For& loop) {
  Nest nest;
  if (loop.loop != ForKind::Serial || !const_int(loop.extent) || !nest.add(loop.body) ||
      !nest.update)
    return std::nullopt;
  Sums out{.update = nest.update, .conditions = nest.conditions};
  const Update& u = *out.update;
  if (single_op(*u.reducer) != BinaryOp::Add) return std::nullopt;
  const Target& target = u.targets[0];
  const auto* product = u.values[0].as<Binary>();
  const auto* weight = product && product->op == BinaryOp::Mul ? product->b.as<Binary>() : nullptr;
  if (target.buffer->scope.kind != ScopeKind::Register || !is_float(target.buffer->elem) ||
      !weight || weight->op != BinaryOp::Mul || !has_load(weight->a) || !has_load(weight->b) ||
      !is_small(weight->a) || reads(u.values[0], target.buffer) ||
      mentions(target.indices, loop.var) || mentions(out.conditions, loop.var) ||
      std::ranges::any_of(out.conditions, has_load) ||
      lanes_of(target.indices) != u.values[0].type().lanes || uses(weight->b, loop.var))
    return std::nullopt;
  out.x = product->a;
  out.q = weight->a;
  out.scale = weight->b;
  int64_t terms = *const_int(loop.extent), rows = 1;  // of one scale
  for (const For* l : nest.loops) {
    const bool in_tile = mentions(target.indices, l->var), scaled = uses(out.scale, l->var);
    if (in_tile) out.tile.push_back(l);
    if (!in_tile && (scaled || mentions(out.conditions, l->var))) return std::nullopt;
    if (!scaled) (in_tile ? rows : terms) *= *const_int(l->extent);
  }
  const bool whole = terms >= 2 * rows && each_by_itself(out.tile, target.indices);
  return whole ? std::optional(out) : std::nullopt;
}

/// The statement for all sums of the tile.
Stmt for_tile(const Sums& sums, Stmt s) {
  for (const Expr& condition : sums.conditions) s = make_stmt<If>(s->span, condition, s, nullptr);
  for (size_t i = sums.tile.size(); i-- > 0;) {
    const For& l = *sums.tile[i];
    const Var var(l.var.name());
    s = make_stmt<For>(l.span, var, l.min, l.extent, substitute(s, {{l.var, var}}), l.loop);
  }
  return s;
}

Stmt scaled_after(const For& loop, const Sums& sums) {
  const Update& u = *sums.update;
  const Target& whole = u.targets[0];
  const Buffer& b = whole.buffer;
  const Buffer part = make_buffer(b->name + "_unscaled", b->elem, b->shape, b->scope, b->layout,
                                  b->alignment, b->span);
  const auto add = [&](const Buffer& to, const Expr& value) {
    return make_stmt<Update>(u.span, u.reducer, std::vector{Target{to, whole.indices}},
                             std::vector{value});
  };
  const Expr zero = float_imm(b->elem, 0);
  const int lanes = u.values[0].type().lanes;
  const Stmt inside =
      rewrite(loop.body, [&](const Update&, auto&) -> Stmt { return add(part, sums.x * sums.q); });
  const Expr sum = make<Load>(u.span, part, whole.indices);
  return make_stmt<Alloc>(
      loop.span, part,
      seq({for_tile(sums, make_stmt<Store>(u.span, part, whole.indices,
                                           lanes > 1 ? broadcast(zero, lanes) : zero)),
           with(loop, [&](For& f) { f.body = inside; }),
           for_tile(sums, add(b, sum * sums.scale))}));
}

}  // namespace

/// Multiplies sums by a scale that is the same for all of their terms, and not the terms.
///   before   for k in 0..16 { S[i] sum= X[k] * (Q[k, i] * scale[i]) }
///   after    alloc S_unscaled: … register
///            S_unscaled[i] = 0.0
///            for k in 0..16 { S_unscaled[i] sum= X[k] * Q[k, i] }
///            S[i] sum= S_unscaled[i] * scale[i]
/// Where S are registers and a scale serves twice as many terms as sums: weights of a few bits come
/// with a scale for a group. Real-equal: a product is rounded elsewhere.
/// Needs:  vectors made, and updates, which state that terms may be reordered; unrolled loops.
/// Leaves: the same.
LoopFunc scale_sums(const LoopFunc& func, PassContext&) {
  return func.with_body(rewrite(func.body, [&](const For& loop, auto& self) -> Stmt {
    const std::optional<Sums> sums = sums_of(loop);
    return sums ? scaled_after(loop, *sums) : self.children(loop);
  }));
}

}  // namespace tilewright::lower
