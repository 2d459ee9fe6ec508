// SPDX-License-Identifier: Apache-2.0
// Constant bounds and residues of polynomials and atoms.
#include <algorithm>
#include <numeric>
#include <utility>

#include "arith/solver.h"
#include "ir/build.h"

namespace tilewright::arith {
namespace {

using ir::BinaryOp;
using ir::Expr;

// Saturated arithmetic: beyond this a bound says nothing.
constexpr Wide kCap = Wide{1} << 120;

Wide capped(Wide v) { return std::clamp(v, -kCap, kCap); }

Wide times(Wide a, Wide b) {
  Wide out;
  if (__builtin_mul_overflow(a, b, &out)) return (a < 0) == (b < 0) ? kCap : -kCap;
  return capped(out);
}

WideInterval times(const WideInterval& a, const WideInterval& b) {
  const Wide c[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}

Interval narrow_interval(const WideInterval& r) { return {clamp_wide(r.lo), clamp_wide(r.hi)}; }

/// a / b and a % b for b >= 1.
Interval divided(const WideInterval& a, const WideInterval& b) {
  const Wide least = std::max<Wide>(b.lo, 1), most = std::max(b.hi, least);
  return narrow_interval({floor_div_wide(a.lo, a.lo < 0 ? least : most),
                          floor_div_wide(a.hi, a.hi < 0 ? most : least)});
}

Interval remainder(const WideInterval& a, const WideInterval& b) {
  const Wide least = std::max<Wide>(b.lo, 1), most = std::max(b.hi, least);
  if (least == most && floor_div_wide(a.lo, most) == floor_div_wide(a.hi, most)) {
    const Wide start = floor_div_wide(a.lo, most) * most;
    return narrow_interval({a.lo - start, a.hi - start});
  }
  if (a.lo >= 0 && a.hi < least) return narrow_interval(a);
  return narrow_interval({0, a.lo >= 0 ? std::min(a.hi, most - 1) : most - 1});
}

/// Both hold.
Residue meet(const Residue& a, const Residue& b) {
  if (a.modulus == 0 || b.modulus == 1) return a;
  if (b.modulus == 0 || a.modulus == 1) return b;
  // Keeps the stronger of the two; combining them needs no more for what programs state.
  if (a.modulus % b.modulus == 0) return a;
  if (b.modulus % a.modulus == 0) return b;
  if (std::gcd(a.modulus, b.modulus) == 1 && a.remainder == 0 && b.remainder == 0) {
    if (const auto m = narrow(Wide{a.modulus} * b.modulus)) return {*m, 0};
  }
  return a.modulus >= b.modulus ? a : b;
}

/// Either holds.
Residue join(const Residue& a, const Residue& b) {
  const auto difference = narrow(Wide{a.remainder} - b.remainder);
  if (!difference) return {};
  const int64_t m = gcd(gcd(a.modulus, b.modulus), *difference);
  return m == 0 ? a : Residue{m, floor_mod(a.remainder, m)};
}

Residue make_residue(Wide modulus, Wide remainder) {
  const auto m = narrow(modulus < 0 ? -modulus : modulus);
  if (!m) return {};
  if (*m == 0) {
    const auto r = narrow(remainder);
    return r ? Residue{0, *r} : Residue{};
  }
  const Wide r = remainder - floor_div_wide(remainder, *m) * *m;
  return {*m, static_cast<int64_t>(r)};
}

Residue add(const Residue& a, const Residue& b) {
  return make_residue(gcd(a.modulus, b.modulus), Wide{a.remainder} + b.remainder);
}

Residue scale(const Residue& a, int64_t k) {
  return make_residue(Wide{a.modulus} * k, Wide{a.remainder} * k);
}

Residue multiply(const Residue& a, const Residue& b) {
  if (a.modulus == 0) return scale(b, a.remainder);
  if (b.modulus == 0) return scale(a, b.remainder);
  // (m·x + r)(n·y + s) ≡ r·s modulo every one of m·n, m·s, n·r.
  const auto mn = narrow(Wide{a.modulus} * b.modulus), ms = narrow(Wide{a.modulus} * b.remainder),
             nr = narrow(Wide{b.modulus} * a.remainder);
  if (!mn || !ms || !nr) return {};
  return make_residue(gcd(gcd(*mn, *ms), *nr), Wide{a.remainder} * b.remainder);
}

}  // namespace

int64_t gcd(int64_t a, int64_t b) {
  if (a == Interval::kMin || b == Interval::kMin) return 1;
  return std::gcd(a, b);
}

WideInterval Solver::range(Mono m) {
  WideInterval out{1, 1};
  const int n = m.degree();
  for (int i = 0; i < n;) {
    const Interval r = atom_range(m.atom(i));
    int power = 1;
    while (i + power < n && m.atom(i + power) == m.atom(i)) ++power;
    WideInterval part{r.lo, r.hi};
    for (int k = 1; k < power; ++k) part = times(part, {r.lo, r.hi});
    if (power % 2 == 0) part.lo = std::max<Wide>(part.lo, 0);
    out = times(out, part);
    i += power;
  }
  return out;
}

WideInterval Solver::range(const Poly& p) {
  if (!p.ok) return {-kCap, kCap};
  WideInterval out{p.constant, p.constant};
  for (const Poly::Term& t : p.terms) {
    const WideInterval m = range(t.mono);
    const Wide a = times(m.lo, t.coefficient), b = times(m.hi, t.coefficient);
    out.lo = capped(out.lo + std::min(a, b));
    out.hi = capped(out.hi + std::max(a, b));
  }
  return out;
}

Residue Solver::residue(Mono m) {
  Residue out{0, 1};
  for (int i = 0; i < m.degree(); ++i) {
    refresh(m.atom(i));
    out = multiply(out, atoms_[m.atom(i)].residue);
  }
  return out;
}

Residue Solver::residue(const Poly& p) {
  if (!p.ok) return {};
  Residue out{0, p.constant};
  for (const Poly::Term& t : p.terms) {
    out = add(out, scale(residue(t.mono), t.coefficient));
    if (out.modulus == 1) return {};
  }
  return out;
}

Interval Solver::atom_range(Atom a) {
  refresh(a);
  return atoms_[a].range;
}

void Solver::refresh(Atom a) {
  if (atoms_[a].version == version_) return;
  atoms_[a].version = version_;
  // While the parts are looked at, what the facts say directly stands in for the answer.
  atoms_[a].range = atoms_[a].assumed;
  atoms_[a].residue = atoms_[a].assumed_residue;
  const Interval computed = compute_range(atoms_[a]);
  const Residue residue = compute_residue(atoms_[a]);
  AtomInfo& info = atoms_[a];
  const Interval both = intersect(info.assumed, computed);
  info.range = both.is_empty() ? computed : both;
  info.residue = meet(info.assumed_residue, residue);
  // Ends that the residue excludes move inwards.
  const Residue& r = info.residue;
  if (r.modulus > 1) {
    if (info.range.lo != Interval::kMin)
      info.range.lo =
          clamp_wide(Wide{info.range.lo} +
                     floor_mod(r.remainder - floor_mod(info.range.lo, r.modulus), r.modulus));
    if (info.range.hi != Interval::kMax)
      info.range.hi =
          clamp_wide(Wide{info.range.hi} -
                     floor_mod(floor_mod(info.range.hi, r.modulus) - r.remainder, r.modulus));
    if (info.range.is_empty()) info.range = both.is_empty() ? computed : both;
  }
}

Interval Solver::compute_range(const AtomInfo& info) {
  const AtomKind kind = info.kind;
  if (kind == AtomKind::Var) {
    const Interval all = range_of(info.expr.type().elem);
    return info.definition ? intersect(all, narrow_interval(range(Poly(*info.definition)))) : all;
  }
  if (kind == AtomKind::Opaque) {
    const Expr e = info.expr;
    return intersect(opaque_range(e), range_of(e.type().elem));
  }
  const Poly pa = info.a, pb = info.b;  // the table may grow below
  const WideInterval a = range(pa), b = range(pb);
  switch (kind) {
    case AtomKind::Div: return divided(a, b);
    case AtomKind::Mod: return remainder(a, b);
    case AtomKind::Min: return narrow_interval({std::min(a.lo, b.lo), std::min(a.hi, b.hi)});
    case AtomKind::Max: return narrow_interval({std::max(a.lo, b.lo), std::max(a.hi, b.hi)});
    default: return narrow_interval({std::min(a.lo, b.lo), std::max(a.hi, b.hi)});
  }
}

Interval Solver::opaque_range(const Expr& e) {
  const Interval all = range_of(e.type().elem);
  if (const ir::Call* c = e.as<ir::Call>()) {
    if (c->fn == ir::MathFn::Popcount || c->fn == ir::MathFn::Clz)
      return e.type().elem == ir::Elem::U64 ? Interval{0, 64} : intersect({0, 64}, all);
    return all;
  }
  if (const ir::Cast* c = e.as<ir::Cast>()) {
    const ir::Type from = c->value.type();
    const Interval source = is_linear(from) ? narrow_interval(range(value(c->value))) : all;
    return from.is_float() || from.elem == ir::Elem::U64 || !all.contains(source) ? all : source;
  }
  const ir::Binary* b = e.as<ir::Binary>();
  if (b == nullptr || !is_linear(b->a.type())) return all;
  switch (b->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul: {
      // A product that is kept as it is written; or a sum that may wrap.
      const bool expand = std::exchange(expand_, true);
      const Poly v = value(e);
      expand_ = expand;
      return lone_wrapping_sum(v) ? all : narrow_interval(range(v));
    }
    default: break;
  }
  const Interval out =
      apply(b->op, narrow_interval(range(value(b->a))), narrow_interval(range(value(b->b))));
  return all.contains(out) && out.bounded() ? out : all;
}

Residue Solver::compute_residue(const AtomInfo& info) {
  const Poly a = info.a, b = info.b;
  if (info.definition) return residue(Poly(*info.definition));
  switch (info.kind) {
    case AtomKind::Min:
    case AtomKind::Max:
    case AtomKind::Select:
    case AtomKind::Guard: return join(residue(a), residue(b));
    case AtomKind::Mod: {
      if (!b.is_constant()) return {};
      const Residue r = residue(a);
      // x % d differs from x by a multiple of d.
      return make_residue(gcd(r.modulus, b.constant), r.remainder);
    }
    case AtomKind::Div: {
      if (!b.is_constant()) return {};
      const Residue r = residue(a);
      if (r.modulus == 0 || r.modulus % b.constant != 0) return {};
      return make_residue(r.modulus / b.constant, floor_div(r.remainder, b.constant));
    }
    default: return {};
  }
}

}  // namespace tilewright::arith
