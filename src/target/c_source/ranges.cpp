// SPDX-License-Identifier: Apache-2.0
#include "target/c_source/ranges.h"

#include <algorithm>
#include <optional>

#include "support/diagnostic.h"

namespace tilewright::target::c_source {

using ir::BinaryOp;
using ir::Expr;

namespace {

/// Held at the ends of what can be counted, far beyond every type.
__int128 product(__int128 a, __int128 b) {
  __int128 p;
  if (!__builtin_mul_overflow(a, b, &p)) return p;
  constexpr __int128 kFar = static_cast<__int128>(1) << 100;
  return (a < 0) != (b < 0) ? -kFar : kFar;
}

Range hull(const Range& a, const Range& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

/// The values of a comparison that is decided for all of a and b.
std::optional<bool> decided(BinaryOp op, const Range& a, const Range& b) {
  const bool apart = a.hi < b.lo || b.hi < a.lo;
  const bool same = a.is_constant() && b.is_constant() && a.lo == b.lo;
  switch (op) {
    case BinaryOp::Eq:
      return same ? std::optional(true) : apart ? std::optional(false) : std::nullopt;
    case BinaryOp::Ne:
      return same ? std::optional(false) : apart ? std::optional(true) : std::nullopt;
    case BinaryOp::Lt:
      return a.hi < b.lo ? std::optional(true) : a.lo >= b.hi ? std::optional(false) : std::nullopt;
    case BinaryOp::Le:
      return a.hi <= b.lo ? std::optional(true) : a.lo > b.hi ? std::optional(false) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Range range_of(ir::Elem elem) {
  require(!ir::is_float(elem), "floats have no range");
  return {ir::int_min(elem), static_cast<__int128>(ir::int_max(elem))};
}

Range exact(BinaryOp op, const Range& a, const Range& b) {
  switch (op) {
    case BinaryOp::Add: return {a.lo + b.lo, a.hi + b.hi};
    case BinaryOp::Sub: return {a.lo - b.hi, a.hi - b.lo};
    default: {
      const __int128 p[] = {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo),
                            product(a.hi, b.hi)};
      return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
    }
  }
}

void Ranges::bind(const ir::Var& var, Range range) {
  vars_[var] = range;
  known_.clear();
}

Range Ranges::of(const Expr& e) {
  const auto known = known_.find(e);
  if (known != known_.end()) return known->second;
  const Range r = compute(e);
  known_.emplace(e, r);
  return r;
}

Range Ranges::compute(const Expr& e) {
  const ir::Elem elem = e.type().elem;
  const Range all = range_of(elem);
  if (const auto* x = e.as<ir::IntImm>()) {
    const __int128 v = elem == ir::Elem::U64
                           ? static_cast<__int128>(static_cast<uint64_t>(x->value))
                           : static_cast<__int128>(x->value);
    return {v, v};
  }
  if (const auto* x = e.as<ir::VarNode>()) {
    const auto known = vars_.find(ir::Var::of(*x));
    return known == vars_.end() ? all : known->second;
  }
  if (const auto* x = e.as<ir::Unary>()) return of(*x);
  if (const auto* x = e.as<ir::Binary>()) return of(*x);
  if (const auto* x = e.as<ir::Broadcast>()) return of(x->value);
  if (const auto* x = e.as<ir::Ramp>()) {
    const Range lanes{0, x->lanes - 1};
    const Range steps = exact(BinaryOp::Mul, of(x->stride), lanes);
    const Range r = exact(BinaryOp::Add, of(x->base), steps);
    return steps.within(all) && r.within(all) ? r : all;
  }
  if (const auto* x = e.as<ir::Select>()) return hull(of(x->yes), of(x->no));
  if (const auto* x = e.as<ir::Guard>()) return hull(of(x->yes), of(x->no));
  if (const auto* x = e.as<ir::Cast>(); x && !x->value.type().is_float()) {
    const Range r = of(x->value);
    return elem != ir::Elem::Bool && r.within(all) ? r : all;
  }
  return all;
}

Range Ranges::of(const ir::Unary& e) {
  const Range all = range_of(e.type.elem), a = of(e.a);
  if (e.op == ir::UnaryOp::Neg && Range{-a.hi, -a.lo}.within(all)) return {-a.hi, -a.lo};
  if (e.op == ir::UnaryOp::Abs && a.lo >= 0) return a;
  return all;
}

Range Ranges::of(const ir::Binary& e) {
  const Range all = range_of(e.type.elem);
  if (e.a.type().is_float()) return all;
  const Range a = of(e.a), b = of(e.b);
  switch (e.op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul: {
      const Range r = exact(e.op, a, b);
      return r.within(all) ? r : all;
    }
    case BinaryOp::Div: return a.lo >= 0 && b.lo > 0 ? Range{a.lo / b.hi, a.hi / b.lo} : all;
    case BinaryOp::Mod:
      if (b.lo <= 0) return all;
      return {0, a.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1};
    case BinaryOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case BinaryOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case BinaryOp::BitAnd: return a.lo >= 0 && b.lo >= 0 ? Range{0, std::min(a.hi, b.hi)} : all;
    case BinaryOp::Shr:
      if (a.lo >= 0 && b.is_constant() && b.lo >= 0 && b.lo < ir::bits(e.type.elem))
        return {a.lo >> b.lo, a.hi >> b.lo};
      return a.lo >= 0 ? Range{0, a.hi} : all;
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
      if (const std::optional<bool> v = decided(e.op, a, b)) return {*v, *v};
      return all;
    default: return all;
  }
}

}  // namespace tilewright::target::c_source
