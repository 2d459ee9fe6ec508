// SPDX-License-Identifier: Apache-2.0
#include "arith/affine.h"

#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/equal.h"

namespace tilewright::arith {
namespace {

using ir::Binary;
using ir::BinaryOp;
using ir::Expr;

// Products of sums are multiplied out while the result stays small: beyond it they are terms.
constexpr size_t kMaxProductTerms = 16;

bool same_factor(const Expr& a, const Expr& b) { return a == b || ir::equal(a, b); }

const Binary* as_product(const Expr& e) {
  const Binary* b = e.as<Binary>();
  return b != nullptr && b->op == BinaryOp::Mul ? b : nullptr;
}

bool same_term(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (as_product(a) == nullptr || as_product(b) == nullptr) return ir::equal(a, b);
  std::vector<Expr> rest = factors_of(a);
  return remove_factors(rest, factors_of(b)) && rest.empty();
}

void collect_factors(const Expr& e, std::vector<Expr>* out) {
  if (const Binary* b = as_product(e)) {
    collect_factors(b->a, out);
    collect_factors(b->b, out);
  } else {
    out->push_back(e);
  }
}

bool add_product(Affine& sum, const Binary& e, int64_t scale) {
  Affine a, b;
  if (!a.add(e.a) || !b.add(e.b)) return false;
  if (a.terms.size() * b.terms.size() > kMaxProductTerms) return sum.add_term(Expr::of(e), scale);
  const auto add_scaled = [&](const Affine& form, int64_t k) {
    for (const Affine::Term& t : form.terms) {
      int64_t c;
      if (__builtin_mul_overflow(t.coefficient, k, &c) || __builtin_mul_overflow(c, scale, &c) ||
          !sum.add_term(t.expr, c))
        return false;
    }
    return true;
  };
  for (const Affine::Term& x : a.terms) {
    for (const Affine::Term& y : b.terms) {
      int64_t c;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &c) ||
          __builtin_mul_overflow(c, scale, &c) ||
          !sum.add_term(ir::make<Binary>({}, BinaryOp::Mul, x.expr, y.expr), c))
        return false;
    }
  }
  int64_t c;
  return (b.constant == 0 || add_scaled(a, b.constant)) &&
         (a.constant == 0 || add_scaled(b, a.constant)) &&
         !__builtin_mul_overflow(a.constant, b.constant, &c) &&
         !__builtin_mul_overflow(c, scale, &c) && sum.add_constant(c);
}

}  // namespace

std::vector<Expr> factors_of(const Expr& term) {
  std::vector<Expr> out;
  collect_factors(term, &out);
  return out;
}

Expr product_of(const std::vector<Expr>& factors) {
  Expr out = 1;
  for (const Expr& f : factors) out = ir::is_const(out, 1) ? f : out * f;
  return out;
}

bool remove_factors(std::vector<Expr>& of, const std::vector<Expr>& by) {
  for (const Expr& factor : by) {
    const auto found =
        std::find_if(of.begin(), of.end(), [&](const Expr& f) { return same_factor(f, factor); });
    if (found == of.end()) return false;
    of.erase(found);
  }
  return true;
}

int64_t Affine::coefficient(const Expr& term) const {
  for (const Term& t : terms)
    if (same_term(t.expr, term)) return t.coefficient;
  return 0;
}

bool Affine::add_term(const Expr& term, int64_t coefficient) {
  if (coefficient == 0) return true;
  for (auto t = terms.begin(); t != terms.end(); ++t) {
    if (!same_term(t->expr, term)) continue;
    if (__builtin_add_overflow(t->coefficient, coefficient, &t->coefficient)) return false;
    if (t->coefficient == 0) terms.erase(t);
    return true;
  }
  terms.push_back({term, coefficient});
  return true;
}

bool Affine::add_constant(int64_t value) {
  return !__builtin_add_overflow(constant, value, &constant);
}

bool Affine::add(const Expr& e, int64_t scale) {
  if (scale == 0) return true;
  if (const std::optional<int64_t> value = ir::const_int(e)) {
    int64_t scaled;
    return !__builtin_mul_overflow(*value, scale, &scaled) && add_constant(scaled);
  }
  int64_t negative;
  if (__builtin_sub_overflow(int64_t{0}, scale, &negative)) return false;
  if (const ir::Unary* u = e.as<ir::Unary>(); u && u->op == ir::UnaryOp::Neg)
    return add(u->a, negative);
  if (const Binary* b = e.as<Binary>()) {
    if (b->op == BinaryOp::Add) return add(b->a, scale) && add(b->b, scale);
    if (b->op == BinaryOp::Sub) return add(b->a, scale) && add(b->b, negative);
    if (b->op == BinaryOp::Mul) {
      int64_t k;
      if (const auto c = ir::const_int(b->b))
        return !__builtin_mul_overflow(*c, scale, &k) && add(b->a, k);
      if (const auto c = ir::const_int(b->a))
        return !__builtin_mul_overflow(*c, scale, &k) && add(b->b, k);
      return add_product(*this, *b, scale);
    }
  }
  return add_term(e, scale);
}

std::optional<Affine> affine_of(const Expr& e) {
  Affine out;
  if (e.type() != ir::kIndex || !out.add(e)) return std::nullopt;
  return out;
}

std::optional<Affine> pure_affine_of(const Expr& e) {
  std::optional<Affine> out = affine_of(e);
  if (!out) return std::nullopt;
  for (const Affine::Term& t : out->terms)
    if (t.expr.as<ir::VarNode>() == nullptr) return std::nullopt;
  return out;
}

std::optional<Affine> difference(const Expr& a, const Expr& b) {
  Affine out;
  if (!out.add(a) || !out.add(b, -1)) return std::nullopt;
  return out;
}

Expr to_expr(const Affine& form) {
  const auto first = std::find_if(form.terms.begin(), form.terms.end(),
                                  [](const Affine::Term& t) { return t.coefficient > 0; });
  const bool leads = first != form.terms.end();
  int64_t constant = form.constant;
  Expr out;
  if (leads)
    out = first->expr * first->coefficient;
  else if (constant != 0)
    out = std::exchange(constant, 0);
  for (auto t = form.terms.begin(); t != form.terms.end(); ++t) {
    const int64_t c = t->coefficient;
    if (t == first) continue;
    if (!out)
      out = c == -1 ? -t->expr : t->expr * c;
    else if (c < 0 && c != INT64_MIN)
      out = out - t->expr * -c;
    else
      out = out + t->expr * c;
  }
  if (!out || constant == 0) return out ? out : constant;
  return constant < 0 && constant != INT64_MIN ? out - -constant : out + constant;
}

}  // namespace tilewright::arith
