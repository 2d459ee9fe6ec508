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
/// "false". Expressions are i64 scalars (indices) or bool scalars over them. Facts that contradict
/// each other describe a place that is never reached; there every answer is right. Answers are
/// cached inside, so two threads need two copies.
class Context {
 public:
  Context();
  /// Knows the symbols of a function, range and divisor, and that the sizes of its buffers are
  /// limited.
  explicit Context(const ir::LoopFunc& func);
  Context(const Context&);
  Context& operator=(const Context&);
  ~Context();

  /// min <= var < min + extent, for a loop variable or block iterator. The bounds may be symbolic.
  /// Inside the loop's body at least one iteration runs, so extent >= 1 is known too. Loops are
  /// bound from the outside in: that is the order in which sums are written.
  void bind(const ir::Var& var, const ir::Expr& min, const ir::Expr& extent);
  void bind(const ir::Var& var, const Interval& range, int64_t divisor = 1);
  /// var == value, for a let. The simplifier leaves `var` as it is written; proofs look through it,
  /// unless `value` reads memory, which may change.
  void define(const ir::Var& var, const ir::Expr& value);
  /// A condition that holds here (an `if` around, a predicate). Conjunctions are split. It must
  /// stay true: who assumes what a load gives must know that nobody writes there.
  void assume(const ir::Expr& condition);

  /// Constant bounds of an integer expression, of all lanes of a vector.
  Interval bounds(const ir::Expr& e) const;
  /// The greatest d such that e is known to be a multiple of d (0 for the constant 0).
  int64_t divisor(const ir::Expr& e) const;
  /// An equal expression, as simple as the rules make it. Works on every type; floats only by rules
  /// that are exact under IEEE.
  ir::Expr simplify(const ir::Expr& e) const;
  /// Does the bool expression hold for all values that the facts allow?
  bool can_prove(const ir::Expr& condition) const;
  bool can_prove_equal(const ir::Expr& a, const ir::Expr& b) const;

  /// Symbolic bounds of `e` when the variables listed run over their ranges and the others are
  /// kept: expressions lo <= e <= hi free of the listed variables, or null where none is known.
  ///   io*16 + ii over ii in 0..16, where io*16 + ii < n:   io*16  …  min(n - 1, io*16 + 15)
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
/// give; branches and loops that provably do nothing disappear, serial and unrolled loops of one
/// iteration are replaced by it, and lets of constants and variables too. Block iterators stay.
/// What is simple already keeps its handle.
ir::Stmt simplify(const ir::Stmt& s, const Context& outer);

}  // namespace tilewright::arith
