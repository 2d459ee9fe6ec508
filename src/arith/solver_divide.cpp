// SPDX-License-Identifier: Apache-2.0
// Floor division and modulo of polynomials: what the divisor divides leaves the division, what is
// too small to matter disappears.
//   (16·x + 8·y + z) / 16 is x + y/2 when 0 <= z < 8, and its remainder 8·(y % 2) + z
#include <algorithm>

#include "arith/solver.h"
#include "ir/build.h"

namespace tilewright::arith {
namespace {

constexpr int kEffort = 24;

/// Is the whole range inside one period [k·d, k·d + d)? Gives k.
std::optional<int64_t> period(const WideInterval& r, int64_t d) {
  const Wide k = floor_div_wide(r.lo, d);
  if (floor_div_wide(r.hi, d) != k) return std::nullopt;
  return narrow(k);
}

/// The atom that is the whole of p.
Atom lone_atom(const Poly& p) {
  const bool alone = p.terms.size() == 1 && p.constant == 0 && p.terms[0].coefficient == 1 &&
                     p.terms[0].mono.is_atom();
  return alone ? p.terms[0].mono.atom(0) : Atom{0};
}

}  // namespace

Poly Solver::quotient_atom(AtomKind kind, const Poly& a, const Poly& b) {
  // The atom must also be computable as it is written.
  if (!fits(a, ir::Elem::I64) || !fits(b, ir::Elem::I64)) return Poly::failed();
  AtomInfo info;
  info.kind = kind;
  info.a = a;
  info.b = b;
  info.expr = kind == AtomKind::Div ? to_expr(a) / to_expr(b) : to_expr(a) % to_expr(b);
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : Poly::atom(atom);
}

/// By a constant: coefficients lose their multiples of d, towards 0 so that signs stay, and so do
/// factors whose residue is known: with n ≡ 0 (mod 16), n + 15 is 16·(n/16) + 15.
Solver::Parts Solver::split(const Poly& p, int64_t d) {
  Poly quotient, rest = Poly::of(p.constant);
  for (const Poly::Term& t : p.terms) {
    // 5·x / 4 is x + x/4, which compares well but does not read well.
    const int64_t left = expand_ || t.coefficient % d == 0 ? t.coefficient % d : t.coefficient;
    quotient = add_scaled(quotient, (t.coefficient - left) / d, t.mono, Poly::of(1));
    if (left == 0) continue;
    const int64_t unit = gcd(left, d), k = d / unit;  // d divides left·k
    const Residue r = residue(t.mono);
    Poly m;
    m.terms = {{t.mono, 1}};
    if (r.modulus != 0 && r.modulus % k == 0) {
      const Poly by_k = divide_atoms(m, k);
      if (by_k.ok) {
        quotient = quotient + by_k * (left / unit);
        rest = rest + Poly::of(floor_mod(r.remainder, k)) * left;
        continue;
      }
    }
    rest = rest + m * left;
  }
  if (rest.ok) {
    quotient = quotient + Poly::of(floor_div(rest.constant, d));
    rest.constant = floor_mod(rest.constant, d);
  }
  return {quotient, rest};
}

/// m / k for a product of atoms.
Poly Solver::divide_atoms(const Poly& m, int64_t k) {
  if (const Atom a = lone_atom(m); a != 0 && atoms_[a].kind == AtomKind::Div) {
    const Poly x = atoms_[a].a, y = atoms_[a].b;
    if (y.is_constant()) {
      const std::optional<int64_t> both = narrow(Wide{y.constant} * k);
      return both ? divide(x, Poly::of(*both)) : Poly::failed();
    }
  }
  return quotient_atom(AtomKind::Div, m, Poly::of(k));
}

/// By a term: only what has all its factors.
Solver::Parts Solver::split(const Poly& p, const Poly& b) {
  if (b.terms.size() != 1 || b.constant != 0) return {Poly(), p};
  const Poly::Term& unit = b.terms[0];
  Poly quotient, rest = Poly::of(p.constant);
  for (const Poly::Term& t : p.terms) {
    Mono left;
    if (t.coefficient % unit.coefficient == 0 && arith::divide(t.mono, unit.mono, &left))
      quotient = add_scaled(quotient, t.coefficient / unit.coefficient, left, Poly::of(1));
    else
      rest = add_scaled(rest, t.coefficient, t.mono, Poly::of(1));
  }
  return {quotient, rest};
}

/// p = unit·multiple + small with 0 <= small < unit, for a unit that divides d: then p / d is
/// multiple / (d / unit). The largest such unit.
std::optional<Solver::Coarse> Solver::coarsen(const Poly& p, int64_t d) {
  std::optional<Coarse> best;
  for (const Poly::Term& candidate : p.terms) {
    const int64_t unit = gcd(candidate.coefficient, d);
    if (unit <= (best ? best->unit : 1)) continue;
    Poly large, small = Poly::of(p.constant);
    for (const Poly::Term& t : p.terms)
      (t.coefficient % unit == 0 ? large : small).terms.push_back(t);
    const std::optional<int64_t> k = period(range(small), unit);
    if (k) best = {unit, divide_down(large, unit) + Poly::of(*k), small - Poly::of(unit) * *k};
  }
  return best;
}

Poly Solver::divide(const Poly& a, const Poly& b) {
  if (!a.ok || !b.ok) return Poly::failed();
  if (!b.is_constant()) {
    if (!prove_positive(b, kEffort)) return Poly::failed();
    const Parts parts = split(a, b);
    if (prove_nonneg(parts.rest, kEffort) && prove_positive(b - parts.rest, kEffort))
      return parts.quotient;
    return parts.quotient + quotient_atom(AtomKind::Div, parts.rest, b);
  }
  const int64_t d = b.constant;
  if (d == 0) return Poly();
  if (d == 1) return a;
  if (d < 0) return d == Interval::kMin ? Poly::failed() : divide(a * -1, Poly::of(-d));
  const auto [quotient, rest] = split(a, d);
  if (!quotient.ok || !rest.ok) return Poly::failed();
  if (const auto k = period(range(rest), d)) return quotient + Poly::of(*k);
  if (const auto coarse = coarsen(rest, d))
    return quotient + divide(coarse->multiple, Poly::of(d / coarse->unit));
  Poly alone = rest;
  alone.constant = 0;
  if (const Atom inner = lone_atom(alone); inner != 0 && atoms_[inner].b.is_constant()) {
    const AtomKind kind = atoms_[inner].kind;
    const Poly x = atoms_[inner].a;
    const int64_t k = atoms_[inner].b.constant;
    // (x / k + c) / d is (x + c·k) / (k·d), and (x % k) / d is (x / d) % (k / d) when d divides k.
    const std::optional<int64_t> kd = narrow(Wide{k} * d);
    if (kind == AtomKind::Div && kd) {
      const Poly out = divide(x + Poly::of(rest.constant) * k, Poly::of(*kd));
      if (out.ok) return quotient + out;
    }
    if (kind == AtomKind::Mod && k % d == 0 && rest.constant == 0) {
      const Poly out = modulo(divide(x, b), Poly::of(k / d));
      if (out.ok) return quotient + out;
    }
  }
  // -x / d is -((x + d - 1) / d)
  const bool negative = std::all_of(rest.terms.begin(), rest.terms.end(),
                                    [](const Poly::Term& t) { return t.coefficient < 0; });
  if (negative) {
    const Poly out = divide(Poly::of(d - 1) - rest, b);
    if (out.ok) return quotient - out;
  }
  return quotient + quotient_atom(AtomKind::Div, rest, b);
}

Poly Solver::modulo(const Poly& a, const Poly& b) {
  if (!a.ok || !b.ok) return Poly::failed();
  if (!b.is_constant()) {
    if (!prove_positive(b, kEffort)) return Poly::failed();
    const Poly rest = split(a, b).rest;
    if (prove_nonneg(rest, kEffort) && prove_positive(b - rest, kEffort)) return rest;
    return quotient_atom(AtomKind::Mod, rest, b);
  }
  const int64_t d = b.constant;
  if (d == 0 || d == 1) return Poly();
  if (d < 0) return Poly::failed();
  const Poly rest = split(a, d).rest;
  if (!rest.ok) return Poly::failed();
  if (const auto k = period(range(rest), d)) return rest - Poly::of(d) * *k;
  if (const auto coarse = coarsen(rest, d))
    return modulo(coarse->multiple, Poly::of(d / coarse->unit)) * coarse->unit + coarse->small;
  // (x % k + c) % d is (x + c) % d when d divides k.
  Poly alone = rest;
  alone.constant = 0;
  if (const Atom inner = lone_atom(alone); inner != 0 && atoms_[inner].kind == AtomKind::Mod &&
                                           atoms_[inner].b.is_constant() &&
                                           atoms_[inner].b.constant % d == 0) {
    const Poly out = modulo(atoms_[inner].a + Poly::of(rest.constant), b);
    if (out.ok) return out;
  }
  return quotient_atom(AtomKind::Mod, rest, b);
}

}  // namespace tilewright::arith
