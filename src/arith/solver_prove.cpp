// SPDX-License-Identifier: Apache-2.0
// The prover: p >= 0 by a search for non-negative combinations of the facts. Each step replaces one
// term of p by something it is known not to be below, until constant bounds decide:
//   n - 1 - 16·io - ii   with ii <= 15, io <= n/16 - 1 and 16·(n/16) <= n:
//   n - 16 - 16·io   →   n - 16·(n/16)   →   0
// A term may have other terms as coefficient: i·n is at most (m - 1)·n when i < m and n >= 0.
#include <numeric>

#include "arith/solver.h"
#include "ir/build.h"

namespace tilewright::arith {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;

class Search {
 public:
  Search(Solver& solver, int effort) : s_(solver), fuel_(effort) {}
  bool nonneg(const Poly& given, int depth);

 private:
  bool by_constraints(const Poly& p, const Poly::Term& t, int depth);
  bool by_structure(const Poly& p, const Poly::Term& t, int depth);
  bool by_division(const Poly& p, const Poly::Term& t, int depth);
  bool by_bounds(const Poly& p, const Poly::Term& t, int depth);
  /// p with its term t, of one atom, replaced by coefficient · by.
  static Poly replace(const Poly& p, const Poly::Term& t, const Poly& by) {
    Poly term;
    term.terms = {t};
    return p - term + by * t.coefficient;
  }
  int sign(Mono m);

  Solver& s_;
  int fuel_;
  std::vector<size_t> seen_;
};

namespace {

constexpr int kMaxDepth = 10;
constexpr int kMaxCases = 3;

/// The term with the youngest atom: inner variables and what is made of others come first.
const Poly::Term* youngest(const Poly& p) {
  const Poly::Term* best = nullptr;
  Atom best_atom = 0;
  for (const Poly::Term& t : p.terms) {
    const Atom a = t.mono.atom(t.mono.degree() - 1);
    if (best == nullptr || a > best_atom ||
        (a == best_atom && t.mono.degree() < best->mono.degree())) {
      best = &t;
      best_atom = a;
    }
  }
  return best;
}

}  // namespace

/// 1 when m >= 0 always, -1 when m <= 0 always, else 0.
int Search::sign(Mono m) {
  const WideInterval r = s_.range(m);
  return r.lo >= 0 ? 1 : r.hi <= 0 ? -1 : 0;
}

bool Search::nonneg(const Poly& given, int depth) {
  if (!given.ok) return false;
  const int64_t g = content(given);
  const Poly p = g > 1 ? divide_down(given, g) : given;
  const WideInterval r = s_.range(p);
  if (r.lo >= 0) return true;
  if (r.hi < 0 || depth == 0 || fuel_-- <= 0) return false;
  const size_t h = hash(p);
  for (const size_t other : seen_)
    if (other == h) return false;
  seen_.push_back(h);
  const Poly::Term t = *youngest(p);
  return by_constraints(p, t, depth - 1) || by_structure(p, t, depth - 1) ||
         by_bounds(p, t, depth - 1);
}

/// Subtracts the multiple of a constraint c >= 0 that cancels the term.
bool Search::by_constraints(const Poly& p, const Poly::Term& t, int depth) {
  for (int i = t.mono.degree() - 1; i >= 0; --i) {
    if (i + 1 < t.mono.degree() && t.mono.atom(i) == t.mono.atom(i + 1)) continue;
    const std::vector<uint32_t> list = s_.atoms_[t.mono.atom(i)].constraints;
    for (auto index = list.rbegin(); index != list.rend(); ++index) {
      const Poly c = s_.constraints_[*index];
      for (const Poly::Term& of : c.terms) {
        Mono cofactor;
        if (!of.mono.has(t.mono.atom(i)) || !divide(t.mono, of.mono, &cofactor)) continue;
        const int side = cofactor.packed == 0 ? 1 : sign(cofactor);
        if (side == 0 || (t.coefficient > 0) != ((of.coefficient > 0) == (side > 0))) continue;
        const int64_t common = gcd(t.coefficient, of.coefficient);
        const int64_t scale = of.coefficient / common;  // of p; made positive below
        const int64_t times = t.coefficient / common;   // of the constraint
        const Poly next = scale > 0 ? add_scaled(p * scale, -times, cofactor, c)
                                    : add_scaled(p * -scale, times, cofactor, c);
        if (nonneg(next, depth)) return true;
        if (fuel_ <= 0) return false;
      }
    }
  }
  return false;
}

bool Search::by_division(const Poly& p, const Poly::Term& t, int depth) {
  const Solver::AtomInfo& info = s_.atoms_[t.mono.atom(t.mono.degree() - 1)];
  const Poly x = info.a, d = info.b;
  const int64_t c = t.coefficient;
  Poly term;
  term.terms = {t};
  const Poly rest = p - term;
  if (t.mono.is_atom()) {
    // q + rest >= 0  is  x + d·rest >= 0;  rest - q >= 0  is  d·(rest + 1) - 1 - x >= 0.
    if (c == 1) return nonneg(x + d * rest, depth);
    if (c == -1) return nonneg(d * (rest + Poly::of(1)) - Poly::of(1) - x, depth);
    // x - d + 1 <= d·q <= x
    const Poly bound = c > 0 ? x - d + Poly::of(1) : x;
    if (!d.is_constant()) return nonneg(d * rest + bound * c, depth);
    const int64_t g = gcd(c, d.constant);
    return nonneg(rest * (d.constant / g) + bound * (c / g), depth);
  }
  // A multiple of d·q where d is one of the other factors.
  Mono cofactor;
  divide(t.mono, Mono::of(t.mono.atom(t.mono.degree() - 1)), &cofactor);
  if (d.terms.size() != 1 || d.constant != 0 || d.terms[0].coefficient != 1 ||
      !divide(cofactor, d.terms[0].mono, &cofactor))
    return false;
  const int side = cofactor.packed == 0 ? 1 : sign(cofactor);
  if (side == 0) return false;
  const Poly bound = (c > 0) == (side > 0) ? x - d + Poly::of(1) : x;
  return nonneg(add_scaled(rest, c, cofactor, bound), depth);
}

bool Search::by_structure(const Poly& p, const Poly::Term& t, int depth) {
  const Atom youngest_atom = t.mono.atom(t.mono.degree() - 1);
  const Solver::AtomInfo& info = s_.atoms_[youngest_atom];
  const AtomKind kind = info.kind;
  const Poly a = info.a, b = info.b;
  if (kind == AtomKind::Div) return by_division(p, t, depth);
  if (!t.mono.is_atom()) return false;
  const bool up = t.coefficient < 0;  // an upper bound of the atom is wanted
  switch (kind) {
    case AtomKind::Mod:
      // Below its divisor, and not above a non-negative dividend.
      if (up && !b.is_constant() && nonneg(replace(p, t, b - Poly::of(1)), depth)) return true;
      return up && s_.range(a).lo >= 0 && nonneg(replace(p, t, a), depth);
    case AtomKind::Min:
    case AtomKind::Max:
      if ((kind == AtomKind::Min) == up)
        return nonneg(replace(p, t, a), depth) || nonneg(replace(p, t, b), depth);
      return nonneg(replace(p, t, a), depth) && nonneg(replace(p, t, b), depth);
    case AtomKind::Select:
    case AtomKind::Guard: return nonneg(replace(p, t, a), depth) && nonneg(replace(p, t, b), depth);
    default: return false;
  }
}

/// The term's constant bound; in a product, the bound of one factor.
bool Search::by_bounds(const Poly& p, const Poly::Term& t, int depth) {
  const auto bound = [&](const WideInterval& r) { return narrow(t.coefficient > 0 ? r.lo : r.hi); };
  Poly term;
  term.terms = {t};
  const Poly rest = p - term;
  for (int i = t.mono.degree() - 1; i >= 0 && t.mono.degree() > 1; --i) {
    const Mono factor = Mono::of(t.mono.atom(i));
    Mono cofactor;
    divide(t.mono, factor, &cofactor);
    const int side = sign(cofactor);
    if (side == 0) continue;
    WideInterval r = s_.range(factor);
    if (side < 0) std::swap(r.lo, r.hi);
    const std::optional<int64_t> b = bound(r);
    if (b && *b != Interval::kMin && *b != Interval::kMax &&
        nonneg(add_scaled(rest, t.coefficient, cofactor, Poly::of(*b)), depth))
      return true;
  }
  const std::optional<int64_t> b = bound(s_.range(t.mono));
  return b && *b != Interval::kMin && *b != Interval::kMax &&
         nonneg(rest + Poly::of(*b) * t.coefficient, depth + 1);
}

bool Solver::prove_nonneg(const Poly& p, int effort) {
  return Search(*this, effort).nonneg(expanded(p), kMaxDepth);
}

bool Solver::prove_zero(const Poly& p, int effort) {
  return p.is_zero() || (prove_nonneg(p, effort) && prove_nonneg(p * -1, effort));
}

bool Solver::prove_nonzero(const Poly& p, int effort) {
  if (!p.ok) return false;
  const Residue r = residue(p);
  if (r.remainder != 0) return true;
  return prove_positive(p, effort) || prove_positive(p * -1, effort);
}

bool Solver::prove(const Expr& condition, int effort) {
  if (condition.type() != ir::kBool) return false;
  if (const auto c = ir::const_int(condition)) return *c != 0;
  if (const std::optional<bool> truth = known(condition)) return *truth;
  if (const ir::Unary* u = condition.as<ir::Unary>()) {
    if (known(u->a) == false) return true;
    const Expr opposite = negated(u->a);
    return opposite && prove(opposite, effort);
  }
  if (const ir::Select* s = condition.as<ir::Select>())
    return prove(s->yes, effort) && prove(s->no, effort);
  const Binary* b = condition.as<Binary>();
  if (b == nullptr) return false;
  switch (b->op) {
    case BinaryOp::And: return prove(b->a, effort) && prove(b->b, effort);
    case BinaryOp::Or: {
      if (prove(b->a, effort) || prove(b->b, effort)) return true;
      // Where the first does not hold, the second must.
      const Expr opposite = negated(b->a);
      if (!opposite) return false;
      const Mark here = mark();
      assume(opposite);
      const bool holds = prove(b->b, effort);
      rewind(here);
      return holds;
    }
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Eq:
    case BinaryOp::Ne: break;
    default: return false;
  }
  if (!is_linear(b->a.type())) return false;
  const Poly x = value(b->a), y = value(b->b);
  const auto nonneg = [&](const Poly& p) { return prove_by_cases(p, effort, kMaxCases); };
  switch (b->op) {
    case BinaryOp::Lt: return nonneg(y - x - Poly::of(1));
    case BinaryOp::Le: return nonneg(y - x);
    case BinaryOp::Eq: {
      const Poly d = paired(y - x);
      return d.is_zero() || (nonneg(d) && nonneg(d * -1));
    }
    default: return prove_nonzero(y - x, effort);
  }
}

/// Where a minimum, maximum or choice decides, each of its cases with what holds in it.
bool Solver::prove_by_cases(const Poly& p, int effort, int cases) {
  if (prove_nonneg(p, effort)) return true;
  if (cases == 0 || !p.ok) return false;
  for (const Poly::Term& t : p.terms) {
    for (int i = 0; i < t.mono.degree(); ++i) {
      const AtomInfo& info = atoms_[t.mono.atom(i)];
      if (info.kind != AtomKind::Min && info.kind != AtomKind::Max && info.kind != AtomKind::Select)
        continue;
      const AtomKind kind = info.kind;
      const Poly a = info.a, b = info.b;
      const Expr cond = info.cond;
      const auto holds = [&](const Poly& value, const Poly& above, const Expr& fact) {
        const Mark here = mark();
        if (fact)
          assume(fact);
        else
          assume_nonneg(above);
        const bool proved =
            prove_by_cases(substituted(p, t.mono.atom(i), value), effort, cases - 1);
        rewind(here);
        return proved;
      };
      if (kind == AtomKind::Select) {
        const Expr opposite = negated(cond);
        return holds(a, {}, cond) && holds(b, {}, opposite ? opposite : ir::logical_not(cond));
      }
      const Poly up = b - a;
      return kind == AtomKind::Min ? holds(a, up, {}) && holds(b, up * -1, {})
                                   : holds(b, up, {}) && holds(a, up * -1, {});
    }
  }
  return false;
}

/// p with an atom replaced.
Poly Solver::substituted(const Poly& p, Atom atom, const Poly& by) {
  Poly out = Poly::of(p.constant);
  for (const Poly::Term& t : p.terms) {
    Mono rest = t.mono;
    Poly product = Poly::of(t.coefficient);
    while (arith::divide(rest, Mono::of(atom), &rest)) product = product * by;
    // The failed division above left `rest` without the atom.
    out = out + add_scaled(Poly(), 1, rest, product);
  }
  return out;
}

}  // namespace tilewright::arith
