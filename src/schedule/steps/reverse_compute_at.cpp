// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/build.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Expr;
using ir::Stmt;

struct Refuse {
  const ir::Block& block;
  const ir::For& loop;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error({.code = code,
                 .message = str("cannot compute block `", block.name, "` at the end of `",
                                loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  }
};

/// The outermost loop of the nest around `loop` that the consumer does not share.
const ir::For& own_root(const Program& program, const ir::For& loop, const Stmt& consumer) {
  const Path path = program.path_to(loop);
  const Path other = program.path_to(consumer);
  for (size_t i = 0; i < path.size(); ++i)
    if (const auto* l = path[i].as<ir::For>(); l && (i >= other.size() || path[i] != other[i]))
      return *l;
  return loop;
}

/// Each element of `buffer` is written in one iteration only of `loop` and of the loops around it
/// up to `root`, so that it is complete when that iteration ends.
void require_complete(const Program& program, const ir::Buffer& buffer, const ir::For& loop,
                      const ir::For& root, const Refuse& refuse) {
  const Path path = program.path_to(loop);
  Conflicts writes(root, program, [&](const Access& a, const Access& b) {
    return a.region.buffer == buffer && a.write && b.write;
  });
  bool below_root = false;
  for (const Stmt& s : path) {
    const auto* l = s.as<ir::For>();
    below_root = below_root || l == &root;
    if (!l || !below_root) continue;
    if (!writes.across(*l).empty())
      refuse("schedule.reverse_compute_at.partial",
             str("`", buffer->name, "` is not complete there: `", l->var.name(),
                 "` goes on writing the same elements"),
             "choose a loop that has all reduction loops inside");
  }
}

/// Every block that writes `buffer` in one iteration of the loop (a reduction, and its init) fills
/// the same box.
void require_exact(const Program& program, const ir::Buffer& buffer, const ir::For& loop,
                   const ir::For& root, const arith::Context& context, const Refuse& refuse) {
  const ir::Block* first = nullptr;
  for (const Access& a : accesses_of(loop.body)) {
    if (!a.write || a.region.buffer != buffer) continue;
    if (!a.block)
      refuse("schedule.reverse_compute_at.writers",
             str("a plain statement inside `", loop.var.name(), "` writes `", buffer->name, "`"),
             "use blocks only");
    const ResultIndex index = require_plain_result(*a.block, "compute after");
    // In one iteration, and in all of them together: the consumer runs where the producer does.
    for (const Stmt& part : {loop.body, Stmt::of(root)})
      if (const std::string why = why_not_exact(program, *a.block, part); !why.empty())
        refuse("schedule.reverse_compute_at.exact", why,
               "choose a loop in which the producer fills a whole box");
    if (!first) first = a.block;
    const auto box = iterated(program, *a.block, loop.body);
    const auto wanted = iterated(program, *first, loop.body);
    const ResultIndex first_index = require_plain_result(*first, "compute after");
    for (size_t d = 0; d < index.iter_of_dim.size(); ++d) {
      const ir::Range& x = box[static_cast<size_t>(index.iter_of_dim[d])];
      const ir::Range& y = wanted[static_cast<size_t>(first_index.iter_of_dim[d])];
      if (!context.can_prove_equal(x.min, y.min) || !context.can_prove_equal(x.extent, y.extent))
        refuse("schedule.reverse_compute_at.writers",
               str("blocks `", first->name, "` and `", a.block->name,
                   "` write different parts of `", buffer->name, "`"),
               "move the consumer before cutting its producer");
    }
  }
}

}  // namespace

Results ReverseComputeAt::apply(Program& program) const {
  const ir::Block& c = program.block(block);
  const ir::For& at = program.loop(loop);
  require_outside_of_blocks(program, c, name);
  require_outside_of_blocks(program, at, name);
  const Refuse refuse{c, at};
  const Stmt nest = nest_of(program, c);
  if (c.opaque)
    refuse("schedule.reverse_compute_at.opaque", "the block is opaque: only its regions are known",
           "move a block whose iterators are known");
  if (contains(nest, Stmt::of(at)))
    refuse("schedule.reverse_compute_at.own", "the loop is one of the block's own loops",
           "choose a loop of a producer");
  if (!stands_before(program, Stmt::of(at), nest))
    refuse("schedule.reverse_compute_at.order", "the block does not stand after the loop",
           "reverse_compute_at moves a consumer up into a producer");
  if (!surely_runs(program, nest, Stmt::of(at)) || !surely_runs(program, Stmt::of(at), nest, &c))
    refuse("schedule.reverse_compute_at.condition",
           "one of the two stands under a condition that the other does not",
           "move the block before specialize");
  const std::vector<const ir::For*> shared = program.loops_around(at);
  for (const ir::For* l : program.loops_around(*nest))
    if (std::find(shared.begin(), shared.end(), l) == shared.end())
      refuse("schedule.reverse_compute_at.outer",
             str("the block runs in every iteration of `", l->var.name(),
                 "`, which does not stand around `", at.var.name(), "`"),
             "move a block that stands beside the loop");
  for (const ir::BlockIter& it : c.iters)
    if (it.kind != ir::IterKind::Spatial)
      refuse("schedule.reverse_compute_at.iterator",
             str("its iterator `", it.var.name(), "` is not spatial"),
             "move a block without reduction; compute_at moves the producer instead");

  const ir::For& root = own_root(program, at, nest);
  // Between the loop and the consumer nothing may touch what the consumer writes, nor write what it
  // reads; inside the loop only its producers may.
  std::vector<ir::Buffer> produced;
  for (const Access& a : accesses_of(program.func().body)) {
    if (a.block == &c) continue;
    const Stmt where = a.block ? Stmt::of(*a.block) : Stmt();
    const std::string who = a.block ? str("block `", a.block->name, "`") : "a plain statement";
    const bool inside =
        where ? contains(Stmt::of(at), where) : std::count(a.loops.begin(), a.loops.end(), &at) > 0;
    const bool earlier = where && stands_before(program, where, Stmt::of(root));
    const bool later = where && stands_before(program, nest, where);
    for (const ir::Region& w : c.writes)
      if (w.buffer == a.region.buffer && !earlier && !later)
        refuse("schedule.reverse_compute_at.result",
               str(who, " touches `", w.buffer->name, "` before the block writes it"),
               "move that statement first");
    if (!a.write) continue;
    for (const ir::Region& r : c.reads) {
      if (r.buffer != a.region.buffer || earlier || later) continue;
      if (!inside)
        refuse("schedule.reverse_compute_at.producer",
               str(who, " writes `", r.buffer->name, "` outside of `", at.var.name(), "`"),
               "choose a loop around all producers");
      if (!std::count(produced.begin(), produced.end(), r.buffer)) produced.push_back(r.buffer);
    }
  }
  if (produced.empty())
    refuse("schedule.reverse_compute_at.producer",
           str("nothing inside `", at.var.name(), "` writes what it reads"),
           "choose a loop of a block that produces one of its inputs");

  const arith::Context context = program.context_at(program.path_to(at));
  Placement placement;
  std::vector<bool> placed(c.iters.size(), false);
  if (const ir::For* l = deciding_loop(program, c, nest))
    refuse("schedule.reverse_compute_at.predicate",
           str("its predicate depends on loop `", l->var.name(), "` around it"),
           "move the block before splitting that loop");
  if (const std::string why = why_not_exact(program, c, nest); !why.empty())
    refuse("schedule.reverse_compute_at.loops", why,
           "move a block before cutting its loops in other ways than split and fuse do");
  // What runs now must run then, once: the parts that are produced, cut to what is wanted.
  const std::vector<ir::Range> wanted = iterated(program, c, nest);
  placement.domain = wanted;
  ir::Expr keep;
  for (const ir::Buffer& buffer : produced) {
    require_complete(program, buffer, at, root, refuse);
    require_exact(program, buffer, at, root, context, refuse);
    const ir::Region done = touched(at.body, buffer, true, context);
    Path outside = program.path_to(root);
    outside.pop_back();
    const arith::Context around = program.context_at(outside);
    const ir::Region total = touched(Stmt::of(root), buffer, true, around);
    for (const ir::Region& r : c.reads) {
      if (r.buffer != buffer) continue;
      const bool decided = std::count(placed.begin(), placed.end(), true) > 0;
      for (size_t d = 0; d < r.ranges.size(); ++d) {
        const auto it = std::find_if(c.iters.begin(), c.iters.end(), [&](const ir::BlockIter& i) {
          return i.var == r.ranges[d].min && ir::is_const(r.ranges[d].extent, 1);
        });
        const bool whole =
            context.can_prove(done.ranges[d].min <= 0) &&
            context.can_prove(buffer->shape[d] <= done.ranges[d].min + done.ranges[d].extent);
        if (whole) continue;  // every iteration holds all of this dimension
        if (it == c.iters.end())
          refuse(
              "schedule.reverse_compute_at.index",
              str("dimension ", d, " of `", buffer->name, "` is not read at one of its iterators"),
              "move a block that reads its producer element by element");
        const size_t i = it - c.iters.begin();
        // One read decides which instances belong to an iteration; another one may only agree, else
        // the instances between the two would never run.
        if (decided && !placed[i])
          refuse("schedule.reverse_compute_at.index",
                 str("its inputs are complete in ranges of different iterators"),
                 "move a block that reads what is produced at one place only");
        const Expr first = wanted[i].min, last = wanted[i].min + wanted[i].extent;
        if (!around.can_prove(total.ranges[d].min <= first) ||
            !around.can_prove(last <= total.ranges[d].min + total.ranges[d].extent))
          refuse("schedule.reverse_compute_at.domain",
                 str("it runs where nothing is produced: `", it->var.name(),
                     "` goes further than dimension ", d, " of `", buffer->name, "`"),
                 "move a block whose domain is not larger than its producer's");
        if (placed[i] &&
            !(context.can_prove_equal(placement.domain[i].min, done.ranges[d].min) &&
              context.can_prove_equal(placement.domain[i].extent, done.ranges[d].extent)))
          refuse("schedule.reverse_compute_at.index",
                 str("its inputs are complete in different ranges of `", it->var.name(), "`"),
                 "move a block whose producers are tiled alike");
        placement.domain[i] = done.ranges[d];
        placed[i] = true;
        if (!around.can_prove(first <= total.ranges[d].min))
          keep = ir::both(keep, first <= it->var);
        // Past the domain place_block adds a predicate by itself.
        if (!around.can_prove(it->extent <= last) &&
            !around.can_prove(total.ranges[d].min + total.ranges[d].extent <= last))
          keep = ir::both(keep, Expr(it->var) < last);
      }
    }
  }
  // An iterator that no produced region bounds would run in full in every iteration.
  const Stmt moved = place_block(c, placement, keep, context);
  for (const ir::For* l : program.loops_around(at)) {
    if (!contains(Stmt::of(root), Stmt::of(*l))) continue;
    if (!uses(moved, l->var) && !ir::is_const(l->extent, 1))
      refuse("schedule.reverse_compute_at.repeat",
             str("it would run again in every iteration of `", l->var.name(), "`"),
             "choose a loop further out");
  }
  if (!uses(moved, at.var) && !ir::is_const(at.extent, 1))
    refuse("schedule.reverse_compute_at.repeat",
           str("it would run again in every iteration of `", at.var.name(), "`"),
           "choose a loop further out");

  const ir::Var var = at.var;
  program.replace(at, ir::with(at, [&](ir::For& f) {
                    // Allocations inside end with the loop's body; the consumer goes in with them.
                    std::vector<const ir::Alloc*> allocs;
                    Stmt inner = f.body;
                    while (const auto* a = inner.as<ir::Alloc>())
                      allocs.push_back(a), inner = a->body;
                    inner = ir::seq({inner, moved});
                    for (size_t i = allocs.size(); i-- > 0;)
                      inner = ir::with(*allocs[i], [&](ir::Alloc& n) { n.body = inner; });
                    f.body = inner;
                  }));
  remove(program, nest);
  // A producer's buffer that is now used nowhere else lives inside the loop.
  for (const ir::Buffer& buffer : produced) {
    if (param_of(program.func(), buffer)) continue;
    bool outside = false;
    const Stmt now = Stmt::of(*find_loop(program.func().body, var));
    for (const Access& a : accesses_of(program.func().body))
      if (a.region.buffer == buffer && !(a.block && contains(now, Stmt::of(*a.block))))
        outside = true;
    if (!outside) sink_allocation(program, buffer, var);
  }
  widen_allocations(program);
  return {};
}

}  // namespace tilewright::schedule
