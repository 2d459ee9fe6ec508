// SPDX-License-Identifier: Apache-2.0
// Symbolic bounds of a value over all values of some variables: what depends on them is replaced by
// its bounds, innermost first.
//   16·io + ii over ii in 0..16, with 16·io + ii < n:   16·io  …  min(16·io + 15, n - 1)
#include <algorithm>

#include "arith/solver.h"
#include "ir/rewrite.h"

namespace tilewright::arith {

class Eliminator {
 public:
  Eliminator(Solver& solver, const std::vector<ir::Var>& vars);
  std::optional<Poly> bound(const Poly& p, bool upper);

 private:
  bool depends(Atom a);
  bool depends(const Poly& p);
  std::vector<Poly> candidates(Atom x, bool upper);
  std::optional<Poly> of_variable(const Poly& factor, const Poly& rest, Atom x, bool upper);
  std::optional<Poly> of_atom(Atom x, bool upper);
  std::optional<Poly> constant_bound(Atom x, bool upper);

  Solver& s_;
  std::vector<Atom> vars_;
  std::unordered_map<Atom, bool> depends_;
  int fuel_ = 256;
};

namespace {

constexpr size_t kMaxCandidates = 4;

/// p = factor·x + rest, where rest does not have x as a factor; nothing when x occurs squared.
bool factor_out(const Poly& p, Atom x, Poly* factor, Poly* rest) {
  for (const Poly::Term& t : p.terms) {
    Mono left;
    if (!divide(t.mono, Mono::of(x), &left)) {
      *rest = add_scaled(*rest, t.coefficient, t.mono, Poly::of(1));
    } else {
      if (left.has(x)) return false;
      *factor = add_scaled(*factor, t.coefficient, left, Poly::of(1));
    }
  }
  *rest = *rest + Poly::of(p.constant);
  return true;
}

}  // namespace

Eliminator::Eliminator(Solver& solver, const std::vector<ir::Var>& vars) : s_(solver) {
  for (const ir::Var& v : vars) vars_.push_back(s_.var_atom(v));
}

bool Eliminator::depends(Atom a) {
  if (const auto found = depends_.find(a); found != depends_.end()) return found->second;
  const Solver::AtomInfo& info = s_.atoms_[a];
  bool out = std::find(vars_.begin(), vars_.end(), a) != vars_.end();
  const auto mentions = [&](const ir::Expr& e) {
    bool found = false;
    for (const Atom v : vars_)
      found = found || ir::uses(e, ir::Var::of(*s_.atoms_[v].expr.as<ir::VarNode>()));
    return found;
  };
  if (!out && info.kind != AtomKind::Var)
    out = info.kind == AtomKind::Opaque
              ? mentions(info.expr)
              : depends(info.a) || depends(info.b) || (info.cond && mentions(info.cond));
  return depends_[a] = out;
}

bool Eliminator::depends(const Poly& p) {
  for (const Poly::Term& t : p.terms)
    for (int i = 0; i < t.mono.degree(); ++i)
      if (depends(t.mono.atom(i))) return true;
  return false;
}

std::optional<Poly> Eliminator::bound(const Poly& p, bool upper) {
  if (!p.ok || fuel_-- <= 0) return std::nullopt;
  Atom x = 0;
  for (const Poly::Term& t : p.terms)
    for (int i = 0; i < t.mono.degree(); ++i)
      if (t.mono.atom(i) > x && depends(t.mono.atom(i))) x = t.mono.atom(i);
  if (x == 0) return p;
  Poly factor, rest;
  if (!factor_out(p, x, &factor, &rest)) return std::nullopt;
  const AtomKind kind = s_.atoms_[x].kind;
  const Poly a = s_.atoms_[x].a, b = s_.atoms_[x].b;
  const WideInterval sign = s_.range(factor);
  if (kind == AtomKind::Var) return of_variable(factor, rest, x, upper);
  const bool choice = kind == AtomKind::Select || kind == AtomKind::Guard;
  if (kind == AtomKind::Min || kind == AtomKind::Max || choice) {
    // factor·min(a, b) + rest is a minimum, or with a negative factor a maximum, of two values.
    if (!choice && sign.lo < 0 && sign.hi > 0) return std::nullopt;
    const auto first = bound(factor * a + rest, upper), second = bound(factor * b + rest, upper);
    const bool is_min = choice ? !upper : (kind == AtomKind::Min) == (sign.lo >= 0);
    if (first && second) return s_.extreme(is_min ? AtomKind::Min : AtomKind::Max, *first, *second);
    if (choice || is_min != upper) return std::nullopt;
    return first ? first : second;  // a minimum is at most either
  }
  if (sign.lo < 0 && sign.hi > 0) return std::nullopt;
  const std::optional<Poly> limit = of_atom(x, upper == (sign.lo >= 0));
  if (!limit) return std::nullopt;
  return bound(factor * *limit + rest, upper);
}

/// Bounds of x from the constraints in which it stands alone, and its constant bound.
std::vector<Poly> Eliminator::candidates(Atom x, bool upper) {
  std::vector<Poly> out;
  const std::vector<uint32_t> list = s_.atoms_[x].constraints;
  for (const uint32_t index : list) {
    if (out.size() >= kMaxCandidates) break;
    Poly factor, rest;  // factor·x + rest >= 0
    if (!factor_out(s_.constraints_[index], x, &factor, &rest) || !factor.is_constant()) continue;
    const int64_t c = factor.constant;
    if (c == 0 || (c < 0) != upper || c == Interval::kMin) continue;
    // Inner variables must not come back.
    bool inner = false;
    for (const Poly::Term& t : rest.terms)
      for (int i = 0; i < t.mono.degree(); ++i)
        inner = inner || (t.mono.atom(i) > x && depends(t.mono.atom(i)));
    if (inner) continue;
    // x <= floor(rest / -c), or x >= ceil(-rest / c)
    const Poly limit =
        c < 0 ? s_.divide(rest, Poly::of(-c)) : s_.divide(Poly::of(c - 1) - rest, Poly::of(c));
    if (limit.ok) out.push_back(limit);
  }
  if (const std::optional<Poly> c = constant_bound(x, upper)) out.push_back(*c);
  return out;
}

std::optional<Poly> Eliminator::constant_bound(Atom x, bool upper) {
  const Interval r = s_.atom_range(x);
  const int64_t limit = upper ? r.hi : r.lo;
  if (limit == (upper ? Interval::kMax : Interval::kMin)) return std::nullopt;
  return Poly::of(limit);
}

std::optional<Poly> Eliminator::of_variable(const Poly& factor, const Poly& rest, Atom x,
                                            bool upper) {
  const WideInterval sign = s_.range(factor);
  if (sign.lo < 0 && sign.hi > 0) return std::nullopt;
  std::optional<Poly> best;
  for (const Poly& limit : candidates(x, upper == (sign.lo >= 0))) {
    const std::optional<Poly> result = bound(factor * limit + rest, upper);
    if (!result) continue;
    if (!best) {
      best = result;
      continue;
    }
    const Poly tighter = s_.extreme(upper ? AtomKind::Min : AtomKind::Max, *best, *result);
    if (tighter.ok) best = tighter;
  }
  return best;
}

std::optional<Poly> Eliminator::of_atom(Atom x, bool upper) {
  const AtomKind kind = s_.atoms_[x].kind;
  const Poly a = s_.atoms_[x].a, b = s_.atoms_[x].b;
  if (kind == AtomKind::Div && !depends(b)) {
    if (const auto limit = bound(a, upper)) {
      const Poly out = s_.divide(*limit, b);
      if (out.ok) return out;
    }
  }
  if (kind == AtomKind::Mod && !depends(b)) {
    const auto lo = bound(a, false), hi = bound(a, true);
    if (lo && hi) {  // inside one period the remainder moves with the dividend
      const Poly q = s_.divide(*lo, b);
      if (q.ok && q == s_.divide(*hi, b)) return (upper ? *hi : *lo) - q * b;
    }
    if (!upper) return Poly();
    const Poly below = b - Poly::of(1);
    if (hi && s_.range(a).lo >= 0) return s_.extreme(AtomKind::Min, *hi, below);
    return below;
  }
  return constant_bound(x, upper);
}

std::vector<ir::Var> Solver::variables(const Poly& p) const {
  std::vector<ir::Var> out;
  std::vector<bool> seen(atoms_.size());
  const auto visit = [&](const Poly& q, const auto& self) -> void {
    for (const Poly::Term& t : q.terms) {
      for (int i = 0; i < t.mono.degree(); ++i) {
        const Atom a = t.mono.atom(i);
        if (seen[a]) continue;
        seen[a] = true;
        const AtomInfo& info = atoms_[a];
        if (info.kind == AtomKind::Var) out.push_back(ir::Var::of(*info.expr.as<ir::VarNode>()));
        self(info.a, self);
        self(info.b, self);
      }
    }
  };
  visit(p, visit);
  return out;
}

Interval Solver::bounds(const Poly& p) {
  const WideInterval r = range(p);
  Interval out{clamp_wide(r.lo), clamp_wide(r.hi)};
  const std::vector<ir::Var> vars = variables(p);
  if (const auto lo = eliminate(p, vars, false); lo && lo->is_constant())
    out.lo = std::max(out.lo, lo->constant);
  if (const auto hi = eliminate(p, vars, true); hi && hi->is_constant())
    out.hi = std::min(out.hi, hi->constant);
  return out;
}

std::optional<Poly> Solver::eliminate(const Poly& p, const std::vector<ir::Var>& vars, bool upper) {
  std::optional<Poly> out = Eliminator(*this, vars).bound(p, upper);
  if (out && !out->ok) out.reset();
  return out;
}

}  // namespace tilewright::arith
