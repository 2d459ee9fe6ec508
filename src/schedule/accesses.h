// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedule/program.h"

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

/// The pairs that may conflict between *different* iterations of `loop`, where everything that
/// `root` (the loop itself, or a loop around it) binds may differ too. Pairs that no proof excludes
/// are listed. Reductions of one block into one place are listed with `reduction` set on both.
std::vector<Conflict> conflicts_across(const ir::For& loop, const ir::For& root,
                                       const Program& program);

}  // namespace tilewright::schedule
