// SPDX-License-Identifier: Apache-2.0
#include "tune/choose/imperative.h"

#include <algorithm>

#include "arith/affine.h"
#include "arith/context.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"

namespace tilewright::tune {
namespace {

using ir::Expr;
using ir::Stmt;

// Vectors that one iteration moves.
constexpr int64_t kVectors = 2;

bool mentions(const std::vector<Expr>& indices, size_t count, const ir::Var& var) {
  return std::any_of(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](const Expr& e) { return ir::uses(e, var); });
}

/// Does the variable move these indices to the next element in memory?
bool to_next(const ir::Buffer& buffer, const std::vector<Expr>& indices, const ir::Var& var) {
  if (buffer->layout || indices.empty() || mentions(indices, indices.size() - 1, var)) return false;
  const auto rest = arith::difference(indices.back(), var);
  return rest && std::ranges::none_of(rest->terms, [&](const arith::Affine::Term& t) {
           return ir::uses(t.expr, var);
         });
}

bool same_indices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return ir::equal(x, y); });
}

/// The widest element of a loop that stores neighbours from neighbours; 0 when it does not.
int row_bits(const ir::For& loop) {
  const auto* store = loop.body.as<ir::Store>();
  if (loop.loop != ir::ForKind::Serial || !store || store->mask || ir::has_load(loop.extent) ||
      ir::has_load(loop.min) || !to_next(store->buffer, store->indices, loop.var))
    return 0;
  bool fits = true;
  int bits = ir::bits(store->buffer->elem);
  ir::walk(
      store->value,
      [&](const ir::Load& l) {
        const bool still = !mentions(l.indices, l.indices.size(), loop.var);
        fits = fits && (still || to_next(l.buffer, l.indices, loop.var)) &&
               (l.buffer != store->buffer || same_indices(l.indices, store->indices));
        fits = fits && ir::bits(l.buffer->elem) >= 8;
        bits = std::max(bits, ir::bits(l.buffer->elem));
      },
      [&](const ir::Guard&) { fits = false; });
  return fits && ir::bits(store->buffer->elem) >= 8 ? bits : 0;
}

Stmt in_vectors(const ir::For& loop, int64_t width) {
  const Expr vectors = loop.extent / width;
  const ir::Var outer(loop.var.name()), lane("lane"), rest(loop.var.name());
  const auto at = [&](const Expr& place) { return ir::substitute(loop.body, loop.var, place); };
  const Stmt lanes =
      ir::make_stmt<ir::For>(loop.span, lane, Expr(0), Expr(width),
                             at(loop.min + outer * width + lane), ir::ForKind::Vectorized);
  const Stmt main = ir::make_stmt<ir::For>(loop.span, outer, Expr(0), vectors, lanes);
  const Expr left = loop.extent - vectors * width;
  if (ir::is_const(left, 0)) return main;
  return ir::seq(
      {main, ir::make_stmt<ir::For>(loop.span, rest, loop.min + vectors * width, left, at(rest))});
}

}  // namespace

ir::LoopFunc with_rows_in_vectors(const ir::LoopFunc& func, const ir::TargetSpec& spec) {
  const arith::Context context(func);
  const auto rows = [&](const ir::For& loop, auto& self) -> Stmt {
    const int bits = context.can_prove(Expr(0) <= loop.extent) ? row_bits(loop) : 0;
    const int64_t lanes = bits ? std::max(spec.lanes(bits), 1) : 1;
    const auto known = ir::const_int(loop.extent);
    const int64_t width = known && *known < kVectors * lanes ? lanes : kVectors * lanes;
    if (lanes == 1 || (known && *known < width)) return self.children(loop);
    return in_vectors(loop, width);
  };
  const Stmt body = ir::rewrite(func.body, [&](const ir::Block& b, auto& self) -> Stmt {
    if (!b.opaque) return self.children(b);
    const Stmt now = ir::rewrite(b.body, rows);
    return now == b.body ? Stmt::of(b) : ir::with(b, [&](ir::Block& out) { out.body = now; });
  });
  ir::LoopFunc out = func.with_body(body);
  if (body != func.body) out.stage = ir::Stage::Scheduled;
  return out;
}

}  // namespace tilewright::tune
