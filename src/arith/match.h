// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "arith/rules.h"
#include "ir/expr.h"
#include "support/function_ref.h"

namespace tilewright::arith {

/// What the names of a pattern stand for. Points into the matched expression.
struct Match {
  const ir::Expr* operands[kOperandSlots] = {};
  const ir::Expr* constants[kConstantSlots] = {};
  ir::Type type = ir::kBool;  // of the operands that are not bool
};

/// Does the expression have the shape of the rule's pattern? Operands of commutative operators are
/// tried in both orders. For rules on indices, `is_exact` is asked of every matched sum and
/// product.
bool match(const Rule& rule, const ir::Expr& e, FunctionRef<bool(const ir::Expr&)> is_exact,
           Match* out);

/// The value of an expression of constants; nothing when it does not fit, for rules on indices.
std::optional<int64_t> constant_value(RuleDomain domain, const Pattern& pattern, int node,
                                      const Match& match);

/// Is the node made of constants and literals only?
bool is_constant(const Pattern& pattern, int node);

}  // namespace tilewright::arith
