// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "arith/match.h"
#include "arith/solver.h"
#include "ir/expr.h"
#include "ir/rewrite.h"

namespace tilewright::arith {

/// Simplifies expressions with the facts of a solver, from the leaves up. Each node is folded,
/// brought to a canonical form (indices: a sum of products), and rewritten by the rules until none
/// applies or the effort is spent. Results are kept while the facts stay as they are.
class Simplifier {
 public:
  explicit Simplifier(Solver& solver) : solver_(solver) {}

  /// An equal expression; the same handle when nothing changes.
  ir::Expr simplify(const ir::Expr& e);
  /// Constant bounds of all lanes of an integer vector.
  Interval lane_bounds(const ir::Expr& e);

 private:
  ir::Expr scalar(const ir::Expr& e);

  // Nodes whose operands are simple.
  ir::Expr unary(ir::UnaryOp op, const ir::Expr& a);
  ir::Expr binary(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
  ir::Expr select(const ir::Expr& cond, const ir::Expr& yes, const ir::Expr& no);
  ir::Expr guard(const ir::Expr& cond, const ir::Expr& yes, const ir::Expr& no);
  ir::Expr index_node(const ir::Expr& e);
  ir::Expr compare(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
  ir::Expr canonical_compare(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
  ir::Expr extreme(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
  ir::Expr fold_cast(ir::Elem to, const ir::Expr& value);
  ir::Expr load(const ir::Load& node);

  // Nodes one side of which holds for the other.
  ir::Expr logical(const ir::Binary& node);
  ir::Expr choice(const ir::Expr& e);
  ir::Expr under(const ir::Expr& fact, const ir::Expr& e);

  ir::Expr sum_with_simple_leaves(const ir::Expr& e);
  ir::Expr apply_rules(std::span<const Rule> rules, const ir::Expr& e);
  ir::Expr instantiate(const Rule& rule, const Pattern& pattern, int node, const Match& match);
  bool condition_holds(const Rule& rule, const Match& match);

  ir::Expr vector(const ir::Expr& e);
  ir::Expr vector_load(const ir::Load& node);
  friend class Lanes;

  Solver& solver_;
  std::unordered_map<ir::Expr, ir::Expr> memo_;
  uint64_t memo_version_ = 0;
  int steps_ = 0;  // rules that may still be applied in this call
  int depth_ = 0;
};

/// Folds an operation on constants of one type; null when it must stay.
ir::Expr fold(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
ir::Expr fold(ir::UnaryOp op, const ir::Expr& a);

}  // namespace tilewright::arith
