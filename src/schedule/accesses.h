// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/program.h"
#include "support/function_ref.h"

namespace tilewright::schedule {

/// One access of a statement, seen from outside of its blocks: the declared region of a block with
/// the iterators replaced by their bindings, or a plain load, store, update or atomic.
struct Access {
  ir::Region region;
  bool write = false;
  bool reduction = false;             // the target of a block that reduces: order is free
  const ir::Block* block = nullptr;   // the outermost block around; null for plain statements
  std::vector<ir::Expr> spatial;      // bindings of the block's spatial iterators
  std::vector<const ir::For*> loops;  // between the root of the search and the access
  std::vector<ir::Var> loaded;        // lets in between whose value is not known; others are put in
  ir::Expr condition;                 // under which it happens, free of loads; null: always
  bool is_private = false;            // its buffer is allocated inside the root
};

/// Every access below `root` (root itself included when it is a loop).
std::vector<Access> accesses_of(const ir::Stmt& root);

/// Two accesses of different iterations of one loop that may touch the same element.
struct Conflict {
  Access first, second;
  bool first_earlier = true, second_earlier = true;  // may they, when it is in the earlier one?
  std::string text() const;  // "`C` is written by block `C` and read by block `D`"
};

/// The pairs that may conflict between *different* iterations of a loop, where everything that
/// `root` (the loop itself, or a loop around it) binds may differ too. Pairs that no proof excludes
/// are listed. Reductions of one block into one place are listed with `reduction` set on both.
/// Only those that are asked for: a proof takes its time.
class Conflicts {
 public:
  using Asked = FunctionRef<bool(const Access&, const Access&)>;
  Conflicts(const ir::For& root, const Program& program, Asked asked);
  /// `loop` is `root`, or a loop in it.
  std::vector<Conflict> across(const ir::For& loop);

 private:
  arith::Context context_for(const Access& a, const Access& b,
                             const std::vector<const ir::For*>& around) const;
  bool tells_apart(const Access& a, const ir::For& loop, const arith::Context& context);

  std::vector<Access> all_;
  std::vector<std::pair<size_t, size_t>> pairs_;
  const ir::For& root_;
  const Program& program_;
  ir::VarMap other_;                            // what the second iteration calls its variables
  std::map<const ir::Block*, bool> injective_;  // is each instance another spatial one?
};

inline std::vector<Conflict> conflicts_across(const ir::For& loop, const ir::For& root,
                                              const Program& program) {
  return Conflicts(root, program, [](const Access&, const Access&) { return true; }).across(loop);
}

/// Do both belong to one reduction?
inline bool same_reduction(const Access& a, const Access& b) {
  return a.reduction && b.reduction && a.block == b.block;
}

}  // namespace tilewright::schedule
