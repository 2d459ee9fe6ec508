// SPDX-License-Identifier: Apache-2.0
// Floor division and modulo of polynomials. With x = d·q + r the parts that d divides leave the
// division: (16·x + 8·y + z) / 16 is x + y/2 when 0 <= z < 8.
#include <numeric>

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

int64_t positive_gcd(int64_t a, int64_t b) { return gcd(a, b); }

}  // namespace

/// p = d·q + rest: returns q, with what d is known to divide moved out of `rest`.
Poly Solver::split_by_constant(const Poly& p, int64_t d, Poly* rest) {
  Poly q = Poly::of(floor_div(p.constant, d));
  *rest = Poly::of(floor_mod(p.constant, d));
  for (const Poly::Term& t : p.terms) {
    const int64_t whole = t.coefficient / d, left = t.coefficient % d;  // towards 0: keeps the sign
    if (whole != 0) q = add_scaled(q, whole, t.mono, Poly::of(1));
    if (left == 0) continue;
    // left · m with m = k·(m / k) + r and k = d / gcd(left, d): d divides left · k.
    const int64_t g = positive_gcd(left, d), k = d / g;
    const Residue r = residue(t.mono);
    const bool known = k > 1 && (r.modulus == 0 || r.modulus % k == 0);
    Poly m;
    m.terms = {{t.mono, 1}};
    if (known) {
      const int64_t remainder = floor_mod(r.remainder, k);
      if (t.mono.is_atom() && atoms_[t.mono.atom(0)].kind == AtomKind::Div &&
          atoms_[t.mono.atom(0)].b.is_constant()) {
        *rest = *rest + m * left;  // (x / a) / b is left to nested division
        continue;
      }
      AtomInfo info;
      info.kind = AtomKind::Div;
      info.a = m;
      info.b = Poly::of(k);
      info.expr = to_expr(m) / k;
      const Atom quotient = intern(std::move(info));
      if (quotient == 0) return Poly::failed();
      q = q + Poly::atom(quotient) * (left / g);
      *rest = *rest + Poly::of(left) * remainder;
    } else {
      *rest = *rest + m * left;
    }
  }
  if (rest->ok) {
    q = q + Poly::of(floor_div(rest->constant, d));
    rest->constant = floor_mod(rest->constant, d);
  }
  return q;
}

/// For d = g·k: p = g·s + small with `small` inside one period of g, so that p / d == s / k. Gives s,
/// with the period's number added, and `dropped`, the part of p that is not g·s.
std::optional<Poly> Solver::divide_small_parts(const Poly& p, int64_t d, Poly* dropped) {
  int64_t best = 1;
  Poly best_s;
  for (const Poly::Term& candidate : p.terms) {
    const int64_t g = positive_gcd(candidate.coefficient, d);
    if (g <= best) continue;
    Poly s, small = Poly::of(p.constant);
    for (const Poly::Term& t : p.terms) (t.coefficient % g == 0 ? s : small).terms.push_back(t);
    const std::optional<int64_t> k = period(range(small), g);
    if (!k) continue;
    best = g;
    best_s = divide_down(s, g) + Poly::of(*k);
    *dropped = small - Poly::of(g) * *k;
  }
  if (best == 1) return std::nullopt;
  return best_s;
}

Poly Solver::divide(const Poly& a, const Poly& b) {
  if (!a.ok || !b.ok) return Poly::failed();
  AtomInfo info;
  info.kind = AtomKind::Div;
  if (b.is_constant()) {
    int64_t d = b.constant;
    if (d == 0 || a.is_zero()) return Poly();
    if (d == Interval::kMin) return Poly::failed();
    if (d < 0) return divide(a * -1, Poly::of(-d));
    if (d == 1) return a;
    Poly rest;
    Poly q = split_by_constant(a, d, &rest);
    if (!q.ok || !rest.ok) return Poly::failed();
    if (const auto k = period(range(rest), d)) return q + Poly::of(*k);
    Poly dropped;
    if (const auto smaller = divide_small_parts(rest, d, &dropped)) {
      const int64_t g = [&] {
        for (const Poly::Term& t : rest.terms) {
          const int64_t c = smaller->coefficient(t.mono);
          if (c != 0) return t.coefficient / c;
        }
        return int64_t{1};
      }();
      return q + divide(*smaller, Poly::of(d / g));
    }
    // (x / k) / d is x / (k·d).
    if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 && rest.terms[0].mono.is_atom()) {
      const AtomInfo& inner = atoms_[rest.terms[0].mono.atom(0)];
      if (inner.kind == AtomKind::Div && inner.b.is_constant()) {
        const Poly x = inner.a;
        const int64_t k = inner.b.constant;
        if (const auto kd = narrow(Wide{k} * d))
          return q + divide(x + Poly::of(rest.constant) * k, Poly::of(*kd));
      }
    }
    info.a = rest;
    info.b = Poly::of(d);
    info.expr = to_expr(rest) / d;
    const Atom atom = intern(std::move(info));
    return atom == 0 ? Poly::failed() : q + Poly::atom(atom);
  }
  if (range(b).lo < 1 && !prove_positive(b, kEffort)) return Poly::failed();
  Poly q, rest = a;
  if (b.terms.size() == 1 && b.constant == 0) {
    const Poly::Term& unit = b.terms[0];
    for (const Poly::Term& t : a.terms) {
      Mono left;
      if (t.coefficient % unit.coefficient != 0 || !arith::divide(t.mono, unit.mono, &left)) continue;
      q = add_scaled(q, t.coefficient / unit.coefficient, left, Poly::of(1));
      rest = add_scaled(rest, -t.coefficient, t.mono, Poly::of(1));
    }
  }
  if (prove_nonneg(rest, kEffort) && prove_positive(b - rest, kEffort)) return q;
  info.a = rest;
  info.b = b;
  info.expr = to_expr(rest) / to_expr(b);
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : q + Poly::atom(atom);
}

Poly Solver::modulo(const Poly& a, const Poly& b) {
  if (!a.ok || !b.ok) return Poly::failed();
  AtomInfo info;
  info.kind = AtomKind::Mod;
  if (b.is_constant()) {
    const int64_t d = b.constant;
    if (d == 0 || d == 1 || d == -1) return Poly();
    if (d < 0) return Poly::failed();
    Poly rest;
    split_by_constant(a, d, &rest);
    if (!rest.ok) return Poly::failed();
    if (const auto k = period(range(rest), d)) return rest - Poly::of(d) * *k;
    Poly dropped;
    if (const auto smaller = divide_small_parts(rest, d, &dropped)) {
      for (const Poly::Term& t : rest.terms) {
        const int64_t c = smaller->coefficient(t.mono);
        if (c == 0) continue;
        const int64_t g = t.coefficient / c;
        return modulo(*smaller, Poly::of(d / g)) * g + dropped;
      }
    }
    // (x % (k·d)) % d is x % d.
    if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 && rest.terms[0].mono.is_atom()) {
      const AtomInfo& inner = atoms_[rest.terms[0].mono.atom(0)];
      if (inner.kind == AtomKind::Mod && inner.b.is_constant() && inner.b.constant % d == 0)
        return modulo(inner.a + Poly::of(rest.constant), b);
    }
    info.a = rest;
    info.b = b;
    info.expr = to_expr(rest) % d;
    const Atom atom = intern(std::move(info));
    return atom == 0 ? Poly::failed() : Poly::atom(atom);
  }
  if (range(b).lo < 1 && !prove_positive(b, kEffort)) return Poly::failed();
  Poly rest = a;
  if (b.terms.size() == 1 && b.constant == 0) {
    const Poly::Term& unit = b.terms[0];
    for (const Poly::Term& t : a.terms) {
      Mono left;
      if (t.coefficient % unit.coefficient == 0 && arith::divide(t.mono, unit.mono, &left))
        rest = add_scaled(rest, -t.coefficient, t.mono, Poly::of(1));
    }
  }
  if (prove_nonneg(rest, kEffort) && prove_positive(b - rest, kEffort)) return rest;
  info.a = rest;
  info.b = b;
  info.expr = to_expr(rest) % to_expr(b);
  const Atom atom = intern(std::move(info));
  return atom == 0 ? Poly::failed() : Poly::atom(atom);
}

}  // namespace tilewright::arith
