// SPDX-License-Identifier: Apache-2.0
// Blocks with the loops that are theirs alone, and moving them about.
#pragma once

#include <string>
#include <vector>

#include "arith/region.h"
#include "schedule/accesses.h"
#include "schedule/program.h"

namespace tilewright::schedule {

/// The outermost loop that holds nothing but this block, or the block itself.
ir::Stmt nest_of(const Program& program, const ir::Block& block);

/// An Error when a block stands around the statement, a loop or block: what a block's iterators and
/// regions say would no longer hold if something moved into it or out of it.
void require_outside_of_blocks(const Program& program, const ir::StmtNode& stmt,
                               std::string_view step);
/// Does the block hold blocks or calls of instructions, so that its body is not its own statement?
bool holds_others(const ir::Block& block);

/// Takes a statement out; loops, allocations and sequences left with nothing in them go too.
void remove(Program& program, const ir::Stmt& stmt);

/// Puts a statement before or after another one.
void insert_before(Program& program, const ir::Stmt& place, const ir::Stmt& what);
void insert_after(Program& program, const ir::Stmt& place, const ir::Stmt& what);

/// Does `a` stand before `b` in program order, neither inside the other?
bool stands_before(const Program& program, const ir::Stmt& a, const ir::Stmt& b);
bool contains(const ir::Stmt& outer, const ir::Stmt& inner);

/// Does `a`, which stands before or after `b`, run whenever `b` does: under no condition of its
/// own, in no loop that may be empty? Only where the block of `b`, if one is given, has anything to
/// do: its extents are not 0 then.
bool surely_runs(const Program& program, const ir::Stmt& a, const ir::Stmt& b,
                 const ir::Block* of_b = nullptr);

/// The iterators of a block by the dimension of its result: writes[0] is one element whose index in
/// dimension d is iterator d. An Error that names the block when it is not so.
struct ResultIndex {
  std::vector<int> iter_of_dim;  // index into block.iters
};
ResultIndex require_plain_result(const ir::Block& block, std::string_view step);

/// What one nest of new loops over a region needs: block iterators bound to min + loop, predicate
/// where the prover cannot show that the iterator stays in its domain.
struct Placement {
  std::vector<ir::Range> domain;  // per iterator of the block; the extent may exceed what is needed
};
/// The block in new serial loops over the placement's ranges; `keep` is a further predicate.
ir::Stmt place_block(const ir::Block& block, const Placement& placement, const ir::Expr& keep,
                     const arith::Context& context);

/// The region of `buffer` that accesses below `root` touch, free of everything `root`'s body binds.
/// Empty ranges when there is none.
ir::Region touched(const ir::Stmt& root, const ir::Buffer& buffer, bool writes,
                   const arith::Context& at_root);

/// The range that each iterator's binding takes over the loops from `root` inwards, in terms of the
/// loops outside of it.
std::vector<ir::Range> iterated(const Program& program, const ir::Block& block,
                                const ir::Stmt& root);

/// Why the block's instances below `root` do not fill, exactly and once, the box of spatial
/// iterators that `iterated` or `touched` gives; empty when they do. Regions are boxes that may be
/// too large: whoever reads all of one must know that all of it was written.
std::string why_not_exact(const Program& program, const ir::Block& block, const ir::Stmt& root);

/// Why the block does not run each instance of its domain exactly once in the whole function; empty
/// when it does.
std::string why_not_everywhere(const Program& program, const ir::Block& block);

/// The same without a word on the reduction, which may go on outside of `root`; the box of all
/// iterators when not `spatial_only`.
std::string why_not_box(const Program& program, const ir::Block& block, const ir::Stmt& root,
                        bool spatial_only);

/// Why the block does not run its whole reduction, each term once, below `root`; empty when it
/// does.
std::string why_not_whole(const Program& program, const ir::Block& block, const ir::Stmt& root);

/// The loop outside of `nest` that decides, by the block's predicate, whether it runs at all; null
/// when there is none. Moving the block would lose that decision.
const ir::For* deciding_loop(const Program& program, const ir::Block& block, const ir::Stmt& nest);

/// Does the reduction of the block start below `root`: are its reduction iterators 0 in the first
/// iteration of these loops? A part that partition cut off does not start it.
bool starts_below(const Program& program, const ir::Block& block, const ir::Stmt& root);

/// Splits the init off a reduction, into a block of its own before `at`, and gives its name.
std::string split_init_off(Program& program, const ir::Block& block, const ir::For& at);

/// The init of a reduction as a block of its own, in copies of the loops listed: those that serve
/// no reduction iterator. The others stand at `first`.
ir::Stmt init_nest(const ir::Block& block, const std::vector<const ir::For*>& spatial_loops,
                   const ir::VarMap& first, const std::string& name);

/// Is every element of `region` written before `place` runs: a parameter, or the exact result of
/// one block that stands before?
bool is_written_before(const Program& program, const ir::Region& region, const ir::Stmt& place,
                       const arith::Context& context);

/// Does the block write one element of `buffer` in several instances, as a ring is written? Whoever
/// reads such a buffer must stay where it is.
bool overwrites(const Program& program, const ir::Block& block, const ir::Buffer& buffer);

/// What is known outside of a statement.
arith::Context context_outside(const Program& program, const ir::Stmt& stmt);

/// Moves the allocation of `buffer` so that it encloses just the body of `loop`. All uses must be
/// inside.
void sink_allocation(Program& program, const ir::Buffer& buffer, const ir::Var& loop);

/// After statements have moved: an allocation that no longer encloses all uses of its buffer moves
/// out to the innermost statement that does. An Error when it would leave a concurrent loop that
/// writes it.
void widen_allocations(Program& program);

/// Where `buffer` is allocated; null for parameters.
const ir::Alloc* allocation_of(const Program& program, const ir::Buffer& buffer);

}  // namespace tilewright::schedule
