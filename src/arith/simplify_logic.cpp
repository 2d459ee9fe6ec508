// SPDX-License-Identifier: Apache-2.0
// Nodes one operand of which tells something about another: && and ||, select and guard.
#include "arith/simplify.h"
#include "ir/build.h"

namespace tilewright::arith {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;

/// `e` simplified where `fact` holds.
Expr Simplifier::under(const Expr& fact, const Expr& e) {
  if (!fact || ir::const_int(fact) || ir::const_int(e)) return simplify(e);
  const Solver::Mark here = solver_.mark();
  auto memo = std::move(memo_);
  memo_.clear();
  solver_.assume(fact);
  const Expr out = simplify(e);
  solver_.rewind(here);
  memo_ = std::move(memo);  // the facts are as before
  memo_version_ = solver_.version();
  return out;
}

namespace {

Expr opposite(const Expr& cond) {
  const Expr n = negated(cond);
  return n ? n : ir::logical_not(cond);
}

}  // namespace

/// Both sides are evaluated, so facts from one must not move the loads of the other.
Expr Simplifier::logical(const Binary& node) {
  const bool is_and = node.op == BinaryOp::And;
  const auto decides = [&](const Expr& e) { return is_and ? ir::is_false(e) : ir::is_true(e); };
  const auto neutral = [&](const Expr& e) { return is_and ? ir::is_true(e) : ir::is_false(e); };
  const auto given = [&](const Expr& e) { return is_and ? e : opposite(e); };
  const Expr a = simplify(node.a);
  if (decides(a)) return a;
  if (neutral(a)) return simplify(node.b);
  const Expr b = ir::has_load(node.b) ? simplify(node.b) : under(given(a), node.b);
  if (decides(b)) return b;
  if (neutral(b)) return a;
  if (!ir::has_load(a)) {
    const Expr again = under(given(b), a);
    if (decides(again)) return again;
    if (neutral(again)) return b;
  }
  return binary(node.op, a, b);
}

Expr Simplifier::choice(const Expr& e) {
  const ir::Select* s = e.as<ir::Select>();
  const ir::Guard* g = e.as<ir::Guard>();
  const Expr& given_yes = s ? s->yes : g->yes;
  const Expr& given_no = s ? s->no : g->no;
  const Expr cond = simplify(s ? s->cond : g->cond);
  if (ir::is_true(cond)) return simplify(given_yes);
  if (ir::is_false(cond)) return simplify(given_no);
  // `guard` evaluates one side only, so loads may rely on the condition; in `select` they may not.
  const auto side = [&](const Expr& fact, const Expr& value) {
    const bool may_rely = cond.type() == ir::kBool && (g || !ir::has_load(value));
    return may_rely ? under(fact, value) : simplify(value);
  };
  const Expr yes = side(cond, given_yes);
  const Expr no = side(cond.type() == ir::kBool ? opposite(cond) : Expr(), given_no);
  return s ? select(cond, yes, no) : guard(cond, yes, no);
}

Expr Simplifier::select(const Expr& cond, const Expr& yes, const Expr& no) {
  const Expr e = ir::select(cond, yes, no);
  const Expr better = apply_rules(rules_for_select(), e);
  return better ? better : e;
}

Expr Simplifier::guard(const Expr& cond, const Expr& yes, const Expr& no) {
  const Expr e = ir::guard(cond, yes, no);
  const Expr better = apply_rules(rules_for_guard(), e);
  return better ? better : e;
}

}  // namespace tilewright::arith
