// SPDX-License-Identifier: Apache-2.0
// The memory a statement touches, with what stands around each access.
#pragma once

#include <unordered_set>
#include <vector>

#include "arith/context.h"
#include "ir/func.h"
#include "ir/rewrite.h"

namespace tilewright::lower {

/// One scope between a root statement and an access.
struct Around {
  ir::Var var;           // of a loop or let; null for a condition
  ir::Expr min, extent;  // loop
  ir::Expr value;        // let: its value; condition: what holds
};

struct Access {
  ir::Buffer buffer;
  std::vector<ir::Range> box;
  bool reads = false, writes = false;
  bool atomic = false;
  ir::Reducer reducer;         // of an update's target; null otherwise
  const ir::StmtNode* stmt{};  // the innermost statement
  std::vector<Around> around;  // outside in
};

/// Every access of `root`, in program order: the loads of a statement before its writes.
std::vector<Access> accesses_of(const ir::Stmt& root);

/// Lets every access of `from` go to `to` instead, at the indices that `at` makes of the old ones:
/// as many, or more in front.
ir::Stmt redirect(const ir::Stmt& s, const ir::Buffer& from, const ir::Buffer& to,
                  FunctionRef<std::vector<ir::Expr>(const std::vector<ir::Expr>&)> at);

/// Does `s` mention the buffer?
bool mentions(const ir::Stmt& s, const ir::Buffer& buffer);
bool mentions(const ir::Expr& e, const ir::Buffer& buffer);

/// The buffers that are allocated inside `root`.
std::unordered_set<ir::Buffer> allocated_in(const ir::Stmt& root);

/// The scopes around an access, entered: conditions hold, loop variables have their ranges.
void enter(const std::vector<Around>& around, arith::Context& context);

/// New names for what is bound around an access and for what it loads from memory that changes, so
/// that the access can stand beside another one.
class Renamer {
 public:
  Renamer(ir::VarMap names, const std::unordered_set<ir::Buffer>& written)
      : names_(std::move(names)), written_(written) {}
  ir::Expr operator()(const ir::Expr& e) const;
  std::vector<ir::Range> operator()(const std::vector<ir::Range>& box) const;
  /// Enters the scopes under new names.
  void enter(const std::vector<Around>& around, arith::Context& context);

 private:
  ir::VarMap names_;
  const std::unordered_set<ir::Buffer>& written_;
};

/// Proves that two boxes of one buffer, inside of its shape, have no element in common.
bool boxes_disjoint(const std::vector<ir::Range>& a, const std::vector<ir::Range>& b,
                    const std::vector<ir::Expr>& shape, const arith::Context& context);

/// Asks about different iterations of one loop.
class AcrossIterations {
 public:
  /// `body` are the accesses of the loop's body, `outside` is what holds around the loop.
  AcrossIterations(const ir::For& loop, const std::vector<Access>& body,
                   const arith::Context& outside);
  /// Proves that `a` in iteration i and `b` in iteration j != i never touch the same element.
  bool disjoint(const Access& a, const Access& b) const;
  /// The same for i < j only.
  bool disjoint_later(const Access& a, const Access& b) const;

 private:
  const ir::For& loop_;
  const arith::Context& outside_;
  std::unordered_set<ir::Buffer> written_;
};

}  // namespace tilewright::lower
