// SPDX-License-Identifier: Apache-2.0
#include "arith/context.h"

#include <numeric>

#include "arith/context_facts.h"

namespace tilewright::arith {
namespace {

constexpr int kEffort = 2000;  // of a proof that someone asked for

}  // namespace

Context::Context() : facts_(std::make_unique<Facts>()) {}

Context::Context(const ir::LoopFunc& func) : Context() {
  for (const ir::Symbol& s : func.symbols) bind(s.var, Interval{s.min, s.max}, s.divisor);
  for (const ir::Param& p : func.params) facts_->solver.assume_size(*p.buffer);
}

Context::Context(const Context& other) : facts_(std::make_unique<Facts>(*other.facts_)) {}
Context& Context::operator=(const Context& other) {
  facts_ = std::make_unique<Facts>(*other.facts_);
  return *this;
}
Context::~Context() = default;

void Context::bind(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent) {
  facts_->solver.bind(var, min, extent);
}

void Context::bind(const ir::Var& var, const Interval& range, int64_t divisor) {
  facts_->solver.bind(var, range, Residue{std::max<int64_t>(divisor, 1), 0});
}

void Context::define(const ir::Var& var, const ir::Expr& value) {
  facts_->solver.define(var, value);
}

void Context::assume(const ir::Expr& condition) { facts_->solver.assume(simplify(condition)); }

Interval Context::bounds(const ir::Expr& e) const {
  Solver& solver = facts_->solver;
  solver.trim();
  if (e.type().is_vector()) return facts_->simplifier.lane_bounds(e);
  if (!Solver::is_linear(e.type())) return range_of(e.type().elem);
  const Poly v = solver.value(e);
  return v.ok ? solver.bounds(v) : range_of(e.type().elem);
}

int64_t Context::divisor(const ir::Expr& e) const {
  if (!Solver::is_linear(e.type())) return 1;
  const Residue r = facts_->solver.residue(facts_->solver.value(e));
  return std::gcd(r.modulus, r.remainder);
}

ir::Expr Context::simplify(const ir::Expr& e) const {
  facts_->solver.trim();
  return facts_->simplifier.simplify(e);
}

bool Context::can_prove(const ir::Expr& condition) const {
  const ir::Expr simple = simplify(condition);
  if (simple.type().is_vector()) {
    const ir::Broadcast* all = simple.as<ir::Broadcast>();
    return all != nullptr && ir::is_true(all->value);
  }
  return facts_->solver.prove(simple, kEffort);
}

bool Context::can_prove_equal(const ir::Expr& a, const ir::Expr& b) const {
  return can_prove(ir::eq(a, b));
}

Context::Bounds Context::eliminate(const ir::Expr& e, const std::vector<ir::Var>& vars) const {
  Solver& solver = facts_->solver;
  const Poly v = solver.value(e);
  const auto side = [&](bool upper) -> ir::Expr {
    const std::optional<Poly> bound = solver.eliminate(v, vars, upper);
    if (!bound || !solver.fits(*bound, ir::Elem::I64)) return {};
    return simplify(solver.to_expr(*bound));
  };
  return {side(false), side(true)};
}

}  // namespace tilewright::arith
