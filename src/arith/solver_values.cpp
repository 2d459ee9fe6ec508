// SPDX-License-Identifier: Apache-2.0
// From expressions to polynomials over atoms.
#include <algorithm>

#include "arith/solver.h"
#include "ir/build.h"
#include "ir/equal.h"

namespace tilewright::arith {
namespace {

using ir::Binary;
using ir::BinaryOp;
using ir::Elem;
using ir::Expr;
using ir::UnaryOp;

constexpr size_t kMaxTerms = 48;     // a larger polynomial becomes an atom of its own
constexpr size_t kMaxAtoms = 60000;  // atoms are 16-bit numbers
constexpr int kEffort = 24;          // for the questions asked on the way to a value

size_t combine(size_t a, size_t b) { return (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2))); }

bool is_ring_node(const Expr& e) {
  if (const ir::Unary* u = e.as<ir::Unary>()) return u->op == UnaryOp::Neg;
  const Binary* b = e.as<Binary>();
  if (b == nullptr) return false;
  if (b->op == BinaryOp::Shl) {
    const auto amount = ir::const_int(b->b);
    return amount && *amount >= 0 && *amount < ir::bits(e.type().elem) - 1;
  }
  return b->op == BinaryOp::Add || b->op == BinaryOp::Sub || b->op == BinaryOp::Mul;
}

/// k + 1 when v is 2^k - 1, else 0.
int mask_width(int64_t v) {
  return v > 0 && (v & (v + 1)) == 0 ? 64 - __builtin_clzll(static_cast<uint64_t>(v)) : 0;
}

}  // namespace

bool Solver::is_linear(ir::Type type) {
  return !type.is_vector() && type.is_int() && type.elem != Elem::U64;
}

Atom Solver::intern(AtomInfo info) {
  const bool by_parts = info.kind != AtomKind::Opaque && info.kind != AtomKind::Var;
  size_t key = static_cast<size_t>(info.kind) * 0x51ED270B;
  if (info.kind == AtomKind::Var)
    key = combine(key, std::hash<const void*>()(info.expr.get()));
  else if (by_parts)
    key = combine(combine(key, hash(info.a)), hash(info.b));
  else
    key = combine(key, ir::hash(info.expr));
  const auto [first, last] = by_key_.equal_range(key);
  for (auto i = first; i != last; ++i) {
    const AtomInfo& other = atoms_[i->second];
    if (other.kind != info.kind) continue;
    const bool same = info.kind == AtomKind::Var ? other.expr == info.expr
                      : by_parts ? other.a == info.a && other.b == info.b &&
                                       (!info.cond || ir::equal(other.cond, info.cond))
                                 : other.expr == info.expr || ir::equal(other.expr, info.expr);
    if (same) return i->second;
  }
  if (atoms_.size() >= kMaxAtoms) return 0;
  info.key = key;
  const auto atom = static_cast<Atom>(atoms_.size());
  info.age = by_parts ? std::max(age(info.a), age(info.b)) : atom;
  if (by_parts) info.kept = mentions_kept(info.a) || mentions_kept(info.b);
  atoms_.push_back(std::move(info));
  by_key_.emplace(key, atom);
  return atom;
}

Atom Solver::age(const Poly& p) const {
  Atom out = 0;
  for (const Poly::Term& t : p.terms)
    for (int i = 0; i < t.mono.degree(); ++i) out = std::max(out, atoms_[t.mono.atom(i)].age);
  return out;
}

Atom Solver::var_atom(const ir::Var& var) {
  AtomInfo info;
  info.kind = AtomKind::Var;
  info.expr = var;
  return intern(std::move(info));
}

Poly Solver::opaque(const Expr& e) {
  AtomInfo info;
  info.expr = e;
  const Atom a = intern(std::move(info));
  return a == 0 ? Poly::failed() : Poly::atom(a);
}

bool Solver::fits(const Poly& p, Elem elem) {
  if (!p.ok) return false;
  Interval all = range_of(elem);
  const WideInterval r = range(p);
  if (r.lo >= all.lo && r.hi <= all.hi) return true;
  // Room for the sums of the proof.
  if (elem == Elem::I64) all = {all.lo / 2, all.hi / 2};
  return (r.lo >= all.lo || prove_nonneg(p - Poly::of(all.lo), kEffort)) &&
         (r.hi <= all.hi || prove_nonneg(Poly::of(all.hi) - p, kEffort));
}

/// A factor that may be written several times: a constant or a product of variables.
bool Solver::distributes(const Poly& p) const {
  if (p.terms.size() + (p.constant != 0 ? 1 : 0) > 1) return false;
  for (const Poly::Term& t : p.terms)
    for (int i = 0; i < t.mono.degree(); ++i)
      if (atoms_[t.mono.atom(i)].kind != AtomKind::Var) return false;
  return true;
}

/// The polynomial of sums and products, which equals `e` modulo 2^bits.
Poly Solver::ring(const Expr& e) {
  if (!is_ring_node(e)) return value(e);
  if (const auto found = memo().rings.find(e); found != memo().rings.end()) return found->second;
  Poly out;
  if (const ir::Unary* u = e.as<ir::Unary>()) {
    out = ring(u->a) * -1;
  } else {
    const Binary& b = *e.as<Binary>();
    switch (b.op) {
      case BinaryOp::Add: out = ring(b.a) + ring(b.b); break;
      case BinaryOp::Sub: out = ring(b.a) - ring(b.b); break;
      case BinaryOp::Mul: {
        const Poly x = ring(b.a), y = ring(b.b);
        out = expand_ || distributes(x) || distributes(y) ? x * y : opaque(e);
        break;
      }
      default: out = ring(b.a) * (int64_t{1} << *ir::const_int(b.b));
    }
  }
  if (out.terms.size() > kMaxTerms) out = Poly::failed();
  out = out.ok ? paired(out) : opaque(e);
  memo().rings.emplace(e, out);
  return out;
}

const Poly& Solver::value(const Expr& e) {
  Memo& m = memo();
  if (const auto found = m.values.find(e); found != m.values.end()) return found->second;
  Poly out;
  if (is_ring_node(e)) {
    out = ring(e);
    out = fits(out, e.type().elem) ? absorbed(out) : opaque(e);
  } else {
    out = leaf(e);
    if (!out.ok || out.terms.size() > kMaxTerms) out = opaque(e);
  }
  return m.values.emplace(e, std::move(out)).first->second;
}

Poly Solver::form(const Expr& e) {
  expand_ = false;
  const Poly out = value(e);
  expand_ = true;
  return out;
}

Poly Solver::wrapping_form(const Expr& e) {
  expand_ = false;
  const Poly out = ring(e);
  expand_ = true;
  return out;
}

Poly Solver::written_form(const Expr& e) {
  const Poly out = form(e);
  return lone_wrapping_sum(out) ? wrapping_form(e) : out;
}

Poly Solver::expanded(const Poly& p) const {
  if (definitions_ == 0) return p;
  Poly out = Poly::of(p.constant);
  for (const Poly::Term& t : p.terms) {
    Poly product = Poly::of(t.coefficient);
    for (int i = 0; i < t.mono.degree(); ++i) {
      const AtomInfo& info = atoms_[t.mono.atom(i)];
      product = product * (info.definition ? *info.definition : Poly::atom(t.mono.atom(i)));
    }
    out = out + product;
  }
  return out.ok ? out : p;
}

bool Solver::is_exact(const Expr& e) {
  if (!is_linear(e.type())) return false;
  const Poly& v = value(e);
  return v.ok && !lone_wrapping_sum(v);
}

bool Solver::lone_wrapping_sum(const Poly& p) const {
  if (p.terms.size() != 1 || !p.terms[0].mono.is_atom()) return false;
  const AtomInfo& atom = atoms_[p.terms[0].mono.atom(0)];
  return atom.kind == AtomKind::Opaque && is_ring_node(atom.expr);
}

/// The value of a node that is neither sum nor product.
Poly Solver::leaf(const Expr& e) {
  if (const auto c = ir::const_int(e)) return Poly::of(*c);
  if (const ir::VarNode* v = e.as<ir::VarNode>()) {
    const Atom a = var_atom(ir::Var::of(*v));
    if (a == 0) return Poly::failed();
    return expand_ && atoms_[a].definition ? *atoms_[a].definition : Poly::atom(a);
  }
  const Elem elem = e.type().elem;
  if (const ir::Cast* c = e.as<ir::Cast>()) {
    if (c->value.type().is_bool()) return zero_or_one(e, c->value);
    if (is_linear(c->value.type()) && fits(value(c->value), elem)) return value(c->value);
    return opaque(e);
  }
  if (const ir::Select* s = e.as<ir::Select>()) return choose(s->cond, value(s->yes), value(s->no));
  if (const ir::Guard* g = e.as<ir::Guard>()) return guard(*g);
  if (const ir::Unary* u = e.as<ir::Unary>(); u && u->op == UnaryOp::Abs) {
    const Poly a = value(u->a);
    return fits(a * -1, elem) ? absolute(a) : opaque(e);
  }
  const Binary* b = e.as<Binary>();
  if (b == nullptr) return opaque(e);
  const auto right = ir::const_int(b->b);
  switch (b->op) {
    case BinaryOp::Div:
    case BinaryOp::Mod: {
      const Poly x = value(b->a), y = value(b->b);
      const Poly out = b->op == BinaryOp::Div ? divide(x, y) : modulo(x, y);
      return out.ok && fits(out, elem) ? out : opaque(e);
    }
    case BinaryOp::Min: return extreme(AtomKind::Min, value(b->a), value(b->b));
    case BinaryOp::Max: return extreme(AtomKind::Max, value(b->a), value(b->b));
    case BinaryOp::Shr:
      if (right && *right >= 0 && *right < ir::bits(elem) - 1)
        return divide(value(b->a), Poly::of(int64_t{1} << *right));
      return opaque(e);
    case BinaryOp::BitAnd:
      if (right && mask_width(*right) > 0 && mask_width(*right) < 63)
        return modulo(value(b->a), Poly::of(*right + 1));
      return opaque(e);
    default: return opaque(e);
  }
}

}  // namespace tilewright::arith
