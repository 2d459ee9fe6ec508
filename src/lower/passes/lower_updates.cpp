// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"
#include "ir/equal.h"
#include "lower/lanes.h"
#include "lower/passes/passes.h"
#include "lower/updates.h"
#include "support/str.h"

namespace tilewright::lower {

using namespace ir;

Stmt expand_update(const Update& u, const Expr& mask) {
  const auto read = [&](const Target& t) { return make<Load>(u.span, t.buffer, t.indices, mask); };
  const auto write = [&](const Target& t, const Expr& value) {
    return make_stmt<Store>(u.span, t.buffer, t.indices, value, mask);
  };
  if (const auto op = single_op(*u.reducer)) {
    const Target& t = u.targets[0];
    return write(t, make<Binary>(u.span, *op, read(t), u.values[0]));
  }

  // Every old and new value gets a name: combine may use each several times.
  const int lanes = u.values[0].type().lanes;
  Widening names{.lanes = lanes};
  std::vector<std::pair<Var, Expr>> lets;
  const auto let = [&](const Var& of, const std::string& name, const Expr& value) {
    lets.emplace_back(Var(name, value.type(), u.span), value);
    names.vectors[of] = lets.back().first;
  };
  for (size_t i = 0; i < u.targets.size(); ++i) {
    let(u.reducer->lhs[i], str(u.targets[i].buffer->name, "_old"), read(u.targets[i]));
    let(u.reducer->rhs[i], str(u.targets[i].buffer->name, "_new"), u.values[i]);
  }
  std::vector<Stmt> stores;
  for (size_t i = 0; i < u.targets.size(); ++i)
    stores.push_back(write(u.targets[i], broadcast(widen(u.reducer->combine[i], names), lanes)));
  Stmt body = seq(std::move(stores), u.span);
  for (auto it = lets.rbegin(); it != lets.rend(); ++it)
    body = make_stmt<Let>(u.span, it->first, it->second, body);
  return body;
}

namespace {

bool is_identity(const Expr& value, const Expr& identity) {
  const Broadcast* b = value.as<Broadcast>();
  return equal(b ? b->value : value, identity);
}

Stmt lower_update(const Update& u) {
  if (u.values.size() == 1) {
    const Expr& identity = u.reducer->identity[0];
    if (is_identity(u.values[0], identity)) return nothing();
    if (const Guard* g = u.values[0].as<Guard>();
        g && !g->cond.type().is_vector() && is_identity(g->no, identity)) {
      const Stmt there = with(u, [&](Update& out) { out.values[0] = g->yes; });
      return make_stmt<If>(u.span, g->cond, lower_update(*there.as<Update>()), Stmt());
    }
  }
  return expand_update(u);
}

/// `m[] = -inf` and `m[] max= v` after it as `m[] = v`, which is the same to the last bit, NaN too;
/// a sum is not, since 0 + -0 is 0. Null when the two are something else.
Stmt started_with(const Stmt& first, const Stmt& second) {
  const auto* start = first.as<Store>();
  const auto* u = second.as<Update>();
  if (!start || start->mask || !u || !is_identity(start->value, u->reducer->identity[0])) return {};
  const auto op = single_op(*u->reducer);
  if (op != BinaryOp::Max && op != BinaryOp::Min) return {};
  const Target& t = u->targets[0];
  bool same = start->buffer == t.buffer && start->indices.size() == t.indices.size();
  for (size_t d = 0; same && d < t.indices.size(); ++d)
    same = equal(start->indices[d], t.indices[d]) && !has_load(t.indices[d]);
  walk(u->values[0], [&](const Load& l) { same = same && l.buffer != t.buffer; });
  return same ? make_stmt<Store>(u->span, t.buffer, t.indices, u->values[0], Expr()) : Stmt();
}

}  // namespace

/// Replaces each update by loads, the reducer's combination and stores.
///   before   c[i] sum= a[i] * b[i]
///   after    c[i] = c[i] + a[i] * b[i]
/// Terms that are the reducer's identity are left out.
///   before   c[i] sum= guard(i + r < n, a[i + r] * b[r], 0.0)
///   after    if i + r < n { c[i] = c[i] + a[i + r] * b[r] }
/// A maximum or minimum of one term is that term.
///   before   m[i] = -inf; m[i] max= reduce_max(a[ramp(i * 8, 1, 8)])
///   after    m[i] = reduce_max(a[ramp(i * 8, 1, 8)])
/// A sum of products stays `mul` and `add`: the back end may contract them.
/// Needs:  no blocks.
/// Leaves: no update in the function.
LoopFunc lower_updates(const LoopFunc& func, PassContext&) {
  require_no_blocks(func, "lower_updates");
  return func.with_body(rewrite(
      func.body, [](const Update& u, auto&) -> Stmt { return lower_update(u); },
      [](const Seq& all, auto& self) -> Stmt {
        std::vector<Stmt> stmts;
        for (const Stmt& s : all.stmts) {
          const Stmt joined = stmts.empty() ? Stmt() : started_with(stmts.back(), s);
          if (joined)
            stmts.back() = joined;
          else
            stmts.push_back(s);
        }
        if (stmts.size() == all.stmts.size()) return self.children(all);
        return self.children(*seq(std::move(stmts), all.span));
      }));
}

}  // namespace tilewright::lower
