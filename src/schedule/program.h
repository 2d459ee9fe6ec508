// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "arith/context.h"
#include "ir/func.h"
#include "ir/rewrite.h"
#include "schedule/refs.h"

namespace tilewright::schedule {

/// The statements from the function's body down to one statement, that one last.
using Path = std::vector<ir::Stmt>;

/// The program that steps rewrite, and what the trace's names stand for in it. A value: a step
/// works on a copy, which replaces the old one only when the step has succeeded.
class Program {
 public:
  /// `instructions` are those that tensorize may name: the target's and the user's own.
  explicit Program(ir::LoopFunc func, std::vector<ir::Instruction> instructions = {})
      : func_(std::move(func)), instructions_(std::move(instructions)) {}

  const ir::LoopFunc& func() const { return func_; }

  /// The loop or block a reference names; an Error when it is no longer there.
  const ir::For& loop(const LoopRef& ref) const;
  const ir::Block& block(const BlockRef& ref) const;
  /// Either, as a statement.
  ir::Stmt loop_or_block(const AnyRef& ref) const;
  const ir::Block* find_block(const std::string& name) const;
  bool is_loop(const AnyRef& ref) const;
  /// The instruction of that name; an Error when there is none.
  const ir::Instruction& instruction(const std::string& name) const;
  /// The value of a number; an Error when its decision does not exist or it is open.
  int64_t value(const Number& number) const;

  Path path_to(const ir::Stmt& stmt) const;
  Path path_to(const ir::StmtNode& node) const { return path_to(ir::Stmt::of(node)); }
  /// The loops around a statement, outermost first.
  std::vector<const ir::For*> loops_around(const ir::StmtNode& node) const;
  /// What is known inside the last statement of the path: loops, lets, conditions around it.
  arith::Context context_at(const Path& path) const;

  /// Puts `now` in the place of the statement `before`, known by identity.
  void replace(const ir::Stmt& before, const ir::Stmt& now);
  void replace(const ir::StmtNode& before, const ir::Stmt& now) {
    replace(ir::Stmt::of(before), now);
  }
  void set_body(ir::Stmt body) { func_ = func_.with_body(std::move(body)); }
  void set_func(ir::LoopFunc func) { func_ = std::move(func); }

  /// Says that statements ask for elements in advance from now on.
  void asks_ahead() { asks_ahead_ = true; }
  /// Takes out those whose buffer is not there any more: other steps move and remove buffers as if
  /// nobody asked for them.
  void drop_lost_prefetches();

  /// A name like `wanted` that no block has.
  std::string fresh_block_name(const std::string& wanted) const;

  /// Lets a trace name results, and sets its decisions.
  void name(const std::string& ref, const Result& result) { names_[ref] = result; }
  void decide(const std::string& decision, int64_t value) { decisions_[decision] = value; }
  const std::map<std::string, Result>& names() const { return names_; }

 private:
  ir::LoopFunc func_;
  std::vector<ir::Instruction> instructions_;
  std::map<std::string, Result> names_;
  std::map<std::string, int64_t> decisions_;
  bool asks_ahead_ = false;
};

/// The loops of `func` with variable `var`, the blocks by name; null when absent.
const ir::For* find_loop(const ir::Stmt& body, const ir::Var& var);

/// `stmt` under a condition: pushed into the predicates of the blocks below, so that loops stay
/// perfectly nested; statements outside of blocks get an `if`.
ir::Stmt guarded(const ir::Stmt& stmt, const ir::Expr& condition);

/// Does the buffer belong to a parameter of the function?
const ir::Param* param_of(const ir::LoopFunc& func, const ir::Buffer& buffer);

/// A copy of a statement in which every variable bound inside (loops, lets, block iterators) and
/// every buffer allocated inside is a new object of the same name.
ir::Stmt with_fresh_names(const ir::Stmt& stmt);
/// Such a copy to stand beside the original: its blocks are called `<name><suffix>`.
ir::Stmt copy_of(const Program& program, const ir::Stmt& stmt, const std::string& suffix);

}  // namespace tilewright::schedule
