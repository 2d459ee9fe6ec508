// SPDX-License-Identifier: Apache-2.0
// Normal forms of sums with quotients, minima and choices in them, and how they are written.
#include <algorithm>
#include <utility>

#include "arith/solver.h"
#include "ir/build.h"

namespace tilewright::arith {
namespace {

using ir::Elem;
using ir::Expr;
using ir::UnaryOp;

constexpr int kEffort = 24;

/// What stands in both alike.
Poly common_part(const Poly& a, const Poly& b) {
  Poly out;
  for (const Poly::Term& t : a.terms)
    if (b.coefficient(t.mono) == t.coefficient) out.terms.push_back(t);
  if (a.constant == b.constant) out.constant = a.constant;
  return out;
}

/// How many operands the sum has when it is written out.
size_t length(const Poly& p) { return p.terms.size() + (p.constant != 0 ? 1 : 0); }

bool before(const Poly& a, const Poly& b) {
  if (a.terms.size() != b.terms.size()) return a.terms.size() > b.terms.size();
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].mono != b.terms[i].mono) return a.terms[i].mono < b.terms[i].mono;
    if (a.terms[i].coefficient != b.terms[i].coefficient)
      return a.terms[i].coefficient < b.terms[i].coefficient;
  }
  return a.constant < b.constant;
}

/// Does p have all of k·m·part but for the constant?
bool contains(const Poly& p, int64_t k, Mono m, const Poly& part) {
  const Poly scaled = add_scaled(Poly(), k, m, part);
  if (!scaled.ok) return false;
  for (const Poly::Term& t : scaled.terms)
    if (p.coefficient(t.mono) != t.coefficient) return false;
  return true;
}

/// Divides a term by a constant or by another term; false when it leaves a rest.
bool divide_term(Poly::Term& t, const Poly& by) {
  if (by.is_constant()) {
    if (t.coefficient % by.constant != 0) return false;
    t.coefficient /= by.constant;
    return true;
  }
  if (by.terms.size() != 1 || by.constant != 0) return false;
  const Poly::Term& unit = by.terms[0];
  if (t.coefficient % unit.coefficient != 0 || !divide(t.mono, unit.mono, &t.mono)) return false;
  t.coefficient /= unit.coefficient;
  return true;
}

}  // namespace

/// Puts quotients and remainders together again:
///   a·(x % d) + a·d·(x / d)  →  a·x
///   a·x - a·d·(x / d)        →  a·(x % d)
///   d·(x / d)                →  x - r  when x leaves r
Poly Solver::paired(const Poly& p) {
  for (size_t i = p.terms.size(); p.ok && i-- > 0;) {
    const Poly::Term t = p.terms[i];
    for (int k = t.mono.degree(); k-- > 0;) {
      const Atom atom = t.mono.atom(k);
      const AtomKind kind = atoms_[atom].kind;
      if (kind != AtomKind::Div && kind != AtomKind::Mod) continue;
      const Poly x = atoms_[atom].a, d = atoms_[atom].b;
      Poly term;
      term.terms = {t};
      const Poly without = p - term;
      Poly::Term factor = t;  // a and what it is multiplied by
      arith::divide(t.mono, Mono::of(atom), &factor.mono);
      Poly by;  // what stands for the remainder or d times the quotient
      if (kind == AtomKind::Mod) {
        const Poly multiple = divide(x, d) * d;
        if (!multiple.ok || multiple.terms.empty() ||
            !contains(without, factor.coefficient, factor.mono, multiple))
          continue;
        by = x - multiple;
      } else {
        if (!divide_term(factor, d)) continue;
        const bool cancels = contains(without, -factor.coefficient, factor.mono, x);
        if (!cancels && !leaves_known_remainder(x, d)) continue;
        by = x - modulo(x, d);
      }
      const Poly out = add_scaled(without, factor.coefficient, factor.mono, by);
      if (out.ok) return paired(out);
    }
  }
  return p;
}

bool Solver::leaves_known_remainder(const Poly& x, const Poly& d) {
  if (!d.is_constant()) return false;
  const Residue r = residue(x);
  return r.modulus % d.constant == 0;
}

/// 0 or 1 by a condition.
Poly Solver::zero_or_one(const Expr& cast, const Expr& cond) {
  AtomInfo info;
  info.kind = AtomKind::Select;
  info.cond = cond;
  info.a = Poly::of(1);
  info.expr = cast;
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : Poly::atom(atom);
}

Poly Solver::extreme(AtomKind kind, const Poly& a, const Poly& b) {
  const bool is_min = kind == AtomKind::Min;
  const Poly up = b - a;  // b >= a when it is >= 0
  if (!up.ok) return Poly::failed();
  const WideInterval r = range(up);
  if (r.lo >= 0 || (r.hi > 0 && prove_nonneg(up, kEffort))) return is_min ? a : b;
  if (r.hi <= 0 || prove_nonneg(a - b, kEffort)) return is_min ? b : a;
  Poly common = common_part(a, b);
  if (!fits(a - common, Elem::I64) || !fits(b - common, Elem::I64)) common = Poly();
  AtomInfo info;
  info.kind = kind;
  info.a = a - common;
  info.b = b - common;
  if (before(info.b, info.a)) std::swap(info.a, info.b);
  info.expr = is_min ? ir::min(to_expr(info.a), to_expr(info.b))
                     : ir::max(to_expr(info.a), to_expr(info.b));
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : common + Poly::atom(atom);
}

/// max(a, -a), written as abs.
Poly Solver::absolute(const Poly& a) {
  const WideInterval r = range(a);
  if (r.lo >= 0 || r.hi <= 0) return r.lo >= 0 ? a : a * -1;
  AtomInfo info;
  info.kind = AtomKind::Max;
  info.a = a;
  info.b = a * -1;
  if (before(info.b, info.a)) std::swap(info.a, info.b);
  info.expr = ir::unary(UnaryOp::Abs, to_expr(info.a));
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : Poly::atom(atom);
}

Poly Solver::choose(const Expr& cond, const Poly& yes, const Poly& no) {
  if (!yes.ok || !no.ok) return Poly::failed();
  if (yes == no) return yes;
  Poly common = common_part(yes, no);
  if (!fits(yes - common, Elem::I64) || !fits(no - common, Elem::I64)) common = Poly();
  AtomInfo info;
  info.kind = AtomKind::Select;
  info.cond = cond;
  info.a = yes - common;
  info.b = no - common;
  info.expr = ir::make<ir::Select>({}, cond, to_expr(info.a), to_expr(info.b));
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : common + Poly::atom(atom);
}

Poly Solver::guard(const ir::Guard& e) {
  AtomInfo info;
  info.kind = AtomKind::Guard;
  info.expr = Expr::of(e);
  info.cond = e.cond;
  info.a = value(e.yes);
  info.b = value(e.no);
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : Poly::atom(atom);
}

/// min(a, b) + rest is min(a + rest, b + rest); done where terms cancel:
/// min(16·io + 16, n) - 16·io is min(16, n - 16·io).
Poly Solver::absorbed(const Poly& p) {
  for (const Poly::Term& t : p.terms) {
    if (!t.mono.is_atom() || (t.coefficient != 1 && t.coefficient != -1)) continue;
    const AtomInfo& info = atoms_[t.mono.atom(0)];
    if (info.kind != AtomKind::Min && info.kind != AtomKind::Max) continue;
    Poly term;
    term.terms = {t};
    const Poly rest = p - term;
    const Poly a = info.a * t.coefficient + rest, b = info.b * t.coefficient + rest;
    const size_t now = length(info.a) + length(info.b) + length(rest);
    if (!a.ok || !b.ok || length(a) + length(b) >= now) continue;
    const bool is_min = (info.kind == AtomKind::Min) == (t.coefficient > 0);
    const Poly out = extreme(is_min ? AtomKind::Min : AtomKind::Max, a, b);
    if (out.ok) return absorbed(out);
  }
  return p;
}

Expr Solver::to_expr(const Poly& p) const {
  // By the youngest variable, so that outer loops come first; products before what they are made
  // of.
  std::vector<Poly::Term> terms = p.terms;
  const auto age_of = [&](Mono m) {
    Atom out = 0;
    for (int i = 0; i < m.degree(); ++i) out = std::max(out, atoms_[m.atom(i)].age);
    return out;
  };
  std::stable_sort(terms.begin(), terms.end(), [&](const Poly::Term& a, const Poly::Term& b) {
    const Atom x = age_of(a.mono), y = age_of(b.mono);
    return x != y ? x < y : a.mono.degree() > b.mono.degree();
  });
  std::stable_partition(terms.begin(), terms.end(),
                        [](const Poly::Term& t) { return t.coefficient > 0; });
  Expr out;
  int64_t constant = p.constant;
  if (constant != 0 && !terms.empty() && terms[0].coefficient < 0) out = std::exchange(constant, 0);
  for (const Poly::Term& t : terms) {
    Expr factor;
    for (int i = t.mono.degree() - 1; i >= 0; --i) {  // i*n reads better than n*i
      const Expr& e = atoms_[t.mono.atom(i)].expr;
      const Expr index = e.type() == ir::kIndex ? e : ir::cast(Elem::I64, e);
      factor = factor ? factor * index : index;
    }
    const int64_t c = t.coefficient;
    if (!out)
      out = c == -1 ? -factor : factor * c;
    else if (c < 0 && c != Interval::kMin)
      out = out - factor * -c;
    else
      out = out + factor * c;
  }
  if (!out) return constant;
  if (constant == 0) return out;
  return constant < 0 && constant != Interval::kMin ? out - -constant : out + constant;
}

}  // namespace tilewright::arith
