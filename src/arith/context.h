// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "arith/interval.h"
#include "ir/build.h"
#include "ir/func.h"

namespace tilewright::arith {

/// What is known about the variables at one place of a program, and what follows from it.
/// All answers hold for every value of the variables that the facts allow; "cannot prove" is not
/// "false". Expressions are i64 scalars (indices) or bool scalars over them.
class Context {
 public:
  Context();
  /// Knows the symbols of a function: range and divisor.
  explicit Context(const ir::LoopFunc& func);
  Context(const Context&);
  Context& operator=(const Context&);
  ~Context();

  /// min <= var < min + extent, for a loop variable or block iterator. The bounds may be symbolic.
  /// Inside the loop's body at least one iteration runs, so extent >= 1 is known too.
  void bind(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent);
  void bind(const ir::Var& var, const Interval& range, int64_t divisor = 1);
  /// var == value, for a let.
  void define(const ir::Var& var, const ir::Expr& value);
  /// A condition that holds here (an `if` around, a predicate). Conjunctions are split.
  void assume(const ir::Expr& condition);

  /// Constant bounds of an integer expression.
  Interval bounds(const ir::Expr& e) const;
  /// The greatest d such that e is known to be a multiple of d (0 for the constant 0).
  int64_t divisor(const ir::Expr& e) const;
  /// An equal expression, as simple as the rules make it. Works on every type; floats only by rules
  /// that are exact under IEEE.
  ir::Expr simplify(const ir::Expr& e) const;
  /// Does the bool expression hold for all values that the facts allow?
  bool can_prove(const ir::Expr& condition) const;
  bool can_prove_equal(const ir::Expr& a, const ir::Expr& b) const;

  /// Symbolic bounds of `e` when `var`s listed run over their bound ranges and the others are kept:
  /// expressions lo <= e <= hi free of the listed variables, or null where none is known.
  struct Bounds {
    ir::Expr lo, hi;
  };
  Bounds eliminate(const ir::Expr& e, const std::vector<ir::Var>& vars) const;

  struct Facts;

 private:
  friend ir::Stmt simplify(const ir::Stmt& s, const Context& outer);
  std::unique_ptr<Facts> facts_;
};

/// Simplifies every expression of a statement, with the facts that loops, lets, ifs and blocks
/// give; branches and loops that provably do nothing disappear.
ir::Stmt simplify(const ir::Stmt& s, const Context& outer);

}  // namespace tilewright::arith
