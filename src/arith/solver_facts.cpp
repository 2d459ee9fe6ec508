// SPDX-License-Identifier: Apache-2.0
// What is known: ranges and residues of atoms, linear constraints, conditions as they stand.
#include <algorithm>

#include "arith/solver.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"

namespace tilewright::arith {
namespace {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;

constexpr int kMaxPropagations = 64;

Wide ceil_div_wide(Wide a, Wide b) { return -floor_div_wide(-a, b); }

}  // namespace

Solver::Mark Solver::mark() const {
  return {atoms_.size(), constraints_.size(), known_.size(), undo_.size()};
}

void Solver::rewind(const Mark& mark) {
  while (undo_.size() > mark.undo) {
    Undo& u = undo_.back();
    AtomInfo& info = atoms_[u.atom];
    info.assumed = u.assumed;
    info.assumed_residue = u.assumed_residue;
    definitions_ +=
        static_cast<int>(u.definition.has_value()) - static_cast<int>(info.definition.has_value());
    info.definition = std::move(u.definition);
    info.kept = u.kept;
    undo_.pop_back();
  }
  while (atoms_.size() > mark.atoms) {
    const auto atom = static_cast<Atom>(atoms_.size() - 1);
    const auto [first, last] = by_key_.equal_range(atoms_.back().key);
    by_key_.erase(std::find_if(first, last, [&](const auto& e) { return e.second == atom; }));
    atoms_.pop_back();
  }
  for (size_t c = mark.constraints; c < constraints_.size(); ++c) {
    for (const Poly::Term& t : constraints_[c].terms) {
      for (int i = 0; i < t.mono.degree(); ++i) {
        if (t.mono.atom(i) >= atoms_.size()) continue;
        std::vector<uint32_t>& list = atoms_[t.mono.atom(i)].constraints;
        while (!list.empty() && list.back() >= mark.constraints) list.pop_back();
      }
    }
  }
  constraints_.resize(mark.constraints);
  known_.resize(mark.known);
  changed();
}

void Solver::trim() {
  constexpr size_t kMany = 20000;
  if (memos_[0].values.size() + memos_[1].values.size() < kMany &&
      atoms_.size() < atoms_of_facts_ + kMany)
    return;
  Mark facts = mark();
  facts.atoms = atoms_of_facts_;
  rewind(facts);
}

void Solver::changed() {
  ++version_;
  atoms_of_facts_ = atoms_.size();
  for (Memo& m : memos_) {
    m.values.clear();
    m.rings.clear();
  }
}

void Solver::save(Atom a) {
  const AtomInfo& info = atoms_[a];
  undo_.push_back({a, info.assumed, info.assumed_residue, info.definition, info.kept});
}

bool Solver::narrow_atom(Atom a, const Interval& range) {
  const Interval before = atom_range(a);
  const Interval both = intersect(before, range);
  // Facts that contradict each other describe a place that is never reached: nothing to gain.
  if (both == before || both.is_empty()) return false;
  save(a);
  atoms_[a].assumed = both;
  ++version_;
  return true;
}

void Solver::narrow_residue(Atom a, const Residue& residue) {
  const Residue before = atoms_[a].assumed_residue;
  if (residue.modulus == 1 || (residue.modulus != 0 && before.modulus % residue.modulus == 0))
    return;
  save(a);
  atoms_[a].assumed_residue = residue;
  ++version_;
}

/// Tightens the range of each atom that stands alone in a term: from 6 - 2·x + y >= 0 and y <= 4
/// follows x <= 5.
void Solver::propagate(uint32_t constraint, std::vector<Atom>* changed_atoms) {
  const Poly p = constraints_[constraint];
  for (const Poly::Term& t : p.terms) {
    if (!t.mono.is_atom()) continue;
    Poly term;
    term.terms = {t};
    const Wide rest = range(p - term).hi;  // t >= -rest
    Interval limit;
    if (t.coefficient > 0)
      limit.lo = clamp_wide(ceil_div_wide(-rest, t.coefficient));
    else
      limit.hi = clamp_wide(floor_div_wide(rest, -Wide{t.coefficient}));
    if (narrow_atom(t.mono.atom(0), limit)) changed_atoms->push_back(t.mono.atom(0));
  }
}

void Solver::assume_nonneg(const Poly& given) {
  if (!given.ok || given.terms.empty()) return;
  const int64_t g = content(given);
  const Poly p = g > 1 ? divide_down(given, g) : given;
  std::vector<Atom> changed_atoms;
  const auto index = static_cast<uint32_t>(constraints_.size());
  if (std::find(constraints_.begin(), constraints_.end(), p) != constraints_.end()) return;
  constraints_.push_back(p);
  propagate(index, &changed_atoms);
  if (p.terms.size() == 1 && p.terms[0].mono.is_atom()) {
    constraints_.pop_back();  // the range says it all
  } else {
    for (const Poly::Term& t : p.terms)
      for (int i = 0; i < t.mono.degree(); ++i) {
        std::vector<uint32_t>& list = atoms_[t.mono.atom(i)].constraints;
        if (list.empty() || list.back() != index) list.push_back(index);
      }
  }
  for (int budget = kMaxPropagations; !changed_atoms.empty() && budget > 0;) {
    const Atom a = changed_atoms.back();
    changed_atoms.pop_back();
    const std::vector<uint32_t> list = atoms_[a].constraints;
    for (const uint32_t c : list)
      if (budget-- > 0) propagate(c, &changed_atoms);
  }
  changed();
  assume_parts(p);
}

/// What p >= 0 says about the insides of its atoms, all of it equivalent:
///   x/d + r >= 0        is  x + d·r >= 0
///   r - x/d >= 0        is  d·r + d - 1 - x >= 0
///   min(x, y) + r >= 0  is  x + r >= 0 and y + r >= 0
void Solver::assume_parts(const Poly& p) {
  for (const Poly::Term& t : p.terms) {
    if (!t.mono.is_atom() || (t.coefficient != 1 && t.coefficient != -1)) continue;
    const AtomInfo& info = atoms_[t.mono.atom(0)];
    const AtomKind kind = info.kind;
    const Poly x = info.a, y = info.b;
    Poly term;
    term.terms = {t};
    const Poly rest = p - term;
    if (kind == AtomKind::Div) {
      assume_nonneg(t.coefficient > 0 ? x + y * rest : y * rest + y - Poly::of(1) - x);
    } else if (kind == (t.coefficient > 0 ? AtomKind::Min : AtomKind::Max)) {
      assume_nonneg(x * t.coefficient + rest);
      assume_nonneg(y * t.coefficient + rest);
    } else {
      continue;
    }
    return;  // what was assumed has the other atoms too
  }
}

void Solver::bind(const ir::Var& var, const Interval& range, const Residue& residue) {
  const Poly v = value(var);
  if (v.terms.size() == 1 && v.terms[0].mono.is_atom() && v.terms[0].coefficient == 1 &&
      v.constant == 0) {
    narrow_atom(v.terms[0].mono.atom(0), range);
    narrow_residue(v.terms[0].mono.atom(0), residue);
  } else {
    if (range.lo != Interval::kMin) assume_nonneg(v - Poly::of(range.lo));
    if (range.hi != Interval::kMax) assume_nonneg(Poly::of(range.hi) - v);
  }
  changed();
}

void Solver::bind(const ir::Var& var, const Expr& min, const Expr& extent) {
  // The bounds become atoms before the variable, so that the search meets inner variables first.
  const Poly lo = value(min), n = value(extent);
  const Poly v = value(var);
  assume_nonneg(n - Poly::of(1));
  assume_nonneg(v - lo);
  assume_nonneg(lo + n - Poly::of(1) - v);
  changed();
}

void Solver::define(const ir::Var& var, const Expr& e) {
  if (!is_linear(var.type())) return;
  const Poly v = value(e);
  const Residue r = residue(v);
  const WideInterval bounds = range(v);
  const Atom a = var_atom(var);
  if (a == 0) return;
  if (v.ok && !ir::has_load(e)) {
    save(a);
    definitions_ += !atoms_[a].definition.has_value();
    atoms_[a].definition = v;
  } else {
    // Memory changes, the variable does not: they may not be taken for the same thing later.
    narrow_atom(a, {clamp_wide(bounds.lo), clamp_wide(bounds.hi)});
    narrow_residue(a, r);
  }
  changed();
}

void Solver::assume_size(const ir::BufferNode& buffer) {
  constexpr int64_t kMaxBits = int64_t{1} << 50;  // 2^47 bytes
  const Poly limit = Poly::of(kMaxBits / ir::bits(buffer.elem));
  std::vector<Poly> extents;
  for (const Expr& e : buffer.shape) extents.push_back(value(e));
  if (extents.size() > Mono::kMaxDegree) return;
  // An extent that is at least 1 may be left out of the product.
  for (size_t chosen = 1; chosen < size_t{1} << extents.size(); ++chosen) {
    Poly product = Poly::of(1);
    bool may_leave_out = true;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (chosen >> d & 1)
        product = product * extents[d];
      else
        may_leave_out = may_leave_out && range(extents[d]).lo >= 1;
    }
    // Where the ranges bound the product already, the fact would only cost time.
    if (may_leave_out && product.ok && range(product).hi > kMaxBits) assume_nonneg(limit - product);
  }
}

void Solver::keep(const ir::Var& var) {
  const Atom a = var_atom(var);
  if (a == 0) return;
  save(a);
  atoms_[a].kept = true;
  changed();
}

bool Solver::mentions_kept(const Poly& p) const {
  for (const Poly::Term& t : p.terms)
    for (int i = 0; i < t.mono.degree(); ++i)
      if (atoms_[t.mono.atom(i)].kept) return true;
  return false;
}

void Solver::assume_zero(const Poly& p) {
  if (!p.ok) return;
  assume_nonneg(p);
  assume_nonneg(p * -1);
  // x % d == r says what x leaves modulo d.
  for (const Poly::Term& t : p.terms) {
    if (!t.mono.is_atom() || (t.coefficient != 1 && t.coefficient != -1)) continue;
    const Atom a = t.mono.atom(0);
    Poly term;
    term.terms = {t};
    const Poly other = t.coefficient == 1 ? (p - term) * -1 : p - term;  // a == other
    const Residue r = residue(other);
    narrow_residue(a, r);
    const AtomInfo& info = atoms_[a];
    if (info.kind != AtomKind::Mod || !info.b.is_constant() || !other.is_constant()) continue;
    const Poly x = info.a;
    const int64_t d = info.b.constant;
    // x = ±y + c for one atom y: its residue modulo d is known.
    if (x.terms.size() == 1 && x.terms[0].mono.is_atom() &&
        (x.terms[0].coefficient == 1 || x.terms[0].coefficient == -1)) {
      const auto left = narrow((Wide{other.constant} - x.constant) * x.terms[0].coefficient);
      if (left) narrow_residue(x.terms[0].mono.atom(0), {d, floor_mod(*left, d)});
    }
  }
  changed();
}

void Solver::assume_compare(const Binary& e) {
  if (!is_linear(e.a.type())) return;
  const Poly a = value(e.a), b = value(e.b);
  const Poly up = b - a;
  switch (e.op) {
    case BinaryOp::Lt: return assume_nonneg(up - Poly::of(1));
    case BinaryOp::Le: return assume_nonneg(up);
    case BinaryOp::Eq: return assume_zero(up);
    default: {
      const WideInterval r = range(up);
      if (r.lo == 0) assume_nonneg(up - Poly::of(1));
      if (r.hi == 0) assume_nonneg(up * -1 - Poly::of(1));
    }
  }
}

void Solver::assume(const Expr& condition) {
  if (condition.type() != ir::kBool) return;
  if (const Binary* b = condition.as<Binary>()) {
    if (b->op == BinaryOp::And) {
      assume(b->a);
      assume(b->b);
      return;
    }
    if (ir::is_compare(b->op)) assume_compare(*b);
  }
  if (const ir::Unary* u = condition.as<ir::Unary>(); u && u->op == ir::UnaryOp::Not) {
    if (const Expr opposite = negated(u->a)) assume(opposite);
    known_.push_back({u->a, false});
    return;
  }
  if (!ir::const_int(condition)) known_.push_back({condition, true});
}

std::optional<bool> Solver::known(const Expr& condition) const {
  for (const auto& [e, truth] : known_)
    if (e == condition || ir::equal(e, condition)) return truth;
  return std::nullopt;
}

Expr negated(const Expr& condition) {
  if (const ir::Unary* u = condition.as<ir::Unary>(); u && u->op == ir::UnaryOp::Not) return u->a;
  const Binary* b = condition.as<Binary>();
  if (b == nullptr) return ir::const_int(condition) ? ir::logical_not(condition) : Expr();
  const bool ordered = !b->a.type().is_float();  // with NaN, !(a < b) is not b <= a
  switch (b->op) {
    case BinaryOp::Eq: return ir::binary(BinaryOp::Ne, b->a, b->b);
    case BinaryOp::Ne: return ir::binary(BinaryOp::Eq, b->a, b->b);
    case BinaryOp::Lt: return ordered ? ir::binary(BinaryOp::Le, b->b, b->a) : Expr();
    case BinaryOp::Le: return ordered ? ir::binary(BinaryOp::Lt, b->b, b->a) : Expr();
    case BinaryOp::And:
    case BinaryOp::Or: {
      const auto one = [](const Expr& e) {
        const Expr n = negated(e);
        return n ? n : ir::logical_not(e);
      };
      return ir::binary(b->op == BinaryOp::And ? BinaryOp::Or : BinaryOp::And, one(b->a),
                        one(b->b));
    }
    default: return {};
  }
}

}  // namespace tilewright::arith
