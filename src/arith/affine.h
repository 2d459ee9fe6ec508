// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/expr.h"

namespace tilewright::arith {

/// constant + Σ coefficient · term. A term is a variable, or an expression the form cannot look
/// into (a load, a floor division, a product of those), compared by structure, products in any
/// order. Terms keep the order of their first appearance and have no zero coefficient.
struct Affine {
  struct Term {
    ir::Expr expr;
    int64_t coefficient = 0;
  };
  std::vector<Term> terms;
  int64_t constant = 0;

  int64_t coefficient(const ir::Expr& term) const;
  bool is_constant() const { return terms.empty(); }

  /// Adds scale · e, looking into sums and products; false when a coefficient would overflow.
  bool add(const ir::Expr& e, int64_t scale = 1);
  /// Adds coefficient · term as it is.
  bool add_term(const ir::Expr& term, int64_t coefficient);
  bool add_constant(int64_t value);
};

/// The affine form of an i64 scalar expression; nothing when a coefficient would overflow. Equal
/// modulo 2^64 whatever the values are, so exactly equal where the expression does not wrap.
std::optional<Affine> affine_of(const ir::Expr& e);
/// Only when every term is a variable.
std::optional<Affine> pure_affine_of(const ir::Expr& e);
/// a - b.
std::optional<Affine> difference(const ir::Expr& a, const ir::Expr& b);
/// The sum as one writes it: `io*16 + ii - 1`, starting with a positive term where there is one.
ir::Expr to_expr(const Affine& form);

/// The factors of a product: x, y, z for (x*y)*z.
std::vector<ir::Expr> factors_of(const ir::Expr& term);
/// The product of the factors, 1 when there are none.
ir::Expr product_of(const std::vector<ir::Expr>& factors);
/// The factors of `of` that remain without those of `by`; false when one of them is missing.
bool remove_factors(std::vector<ir::Expr>& of, const std::vector<ir::Expr>& by);

}  // namespace tilewright::arith
