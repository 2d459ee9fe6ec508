// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "arith/region.h"
#include "ir/build.h"
#include "ir/print.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {
namespace {

using ir::Stmt;

/// Why a producer cannot go into the loop; nothing moves before all of it is known to be legal.
struct Refuse {
  const ir::Block& block;
  const ir::For& loop;
  [[noreturn]] void operator()(const char* code, const std::string& note,
                               const std::string& help) const {
    throw Error(
        {.code = code,
         .message = str("cannot compute block `", block.name, "` at `", loop.var.name(), "`"),
         .notes = {note},
         .help = help});
  }
};

/// Every access to the producer's results outside of it is a read inside the loop, and nothing that
/// the producer reads changes between its old place and the new one.
void check_uses(const Program& program, const ir::Block& block, const Stmt& nest,
                const ir::For& loop, const Refuse& refuse) {
  for (const ir::Region& w : block.writes)
    if (param_of(program.func(), w.buffer))
      refuse("schedule.compute_at.output",
             str("`", w.buffer->name, "` is a result of the function"),
             "use cache_write first, and move the block that fills the cache");
  const auto in = [](const std::vector<ir::Region>& regions, const ir::Buffer& b) {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const ir::Region& r) { return r.buffer == b; });
  };
  std::vector<const ir::Block*> chain;
  for (const Access& a : accesses_of(program.func().body)) {
    if (a.block == &block) continue;
    const Stmt where = a.block ? Stmt::of(*a.block) : Stmt();
    const std::string who = a.block ? str("block `", a.block->name, "`") : "a plain statement";
    if (in(block.writes, a.region.buffer)) {
      if (a.write)
        refuse("schedule.compute_at.writer",
               str("`", a.region.buffer->name, "` is written by ", who, " too"),
               "move a block that alone writes its result");
      const bool inside = where ? contains(Stmt::of(loop), where)
                                : std::count(a.loops.begin(), a.loops.end(), &loop) > 0;
      if (!inside)
        refuse("schedule.compute_at.consumer",
               str(who, " reads `", a.region.buffer->name, "` outside of `", loop.var.name(), "`"),
               "choose a loop around all consumers");
    }
    if (a.write && in(block.reads, a.region.buffer)) {
      if (!where || !stands_before(program, where, nest))
        refuse("schedule.compute_at.input",
               str("`", a.region.buffer->name, "`, which it reads, is written by ", who,
                   " that does not stand before it"),
               "move a block whose inputs are complete before it");
      if (overwrites(program, *a.block, a.region.buffer))
        refuse("schedule.compute_at.ring",
               str("`", a.region.buffer->name, "`, which it reads, is overwritten by ", who),
               "move the block before rolling_buffer folds its input");
    }
  }
}

/// Where the new place asks for more instances than the old one ran (a tile past a predicate), what
/// they read must be there.
void check_inputs(const Program& program, const ir::Block& block,
                  const std::vector<ir::Range>& old_domain, const Placement& placement,
                  const ir::For& loop, const Refuse& refuse) {
  arith::Context context = program.context_at(program.path_to(loop));
  bool more = false;
  ir::VarMap values;
  std::vector<ir::Var> vars;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const ir::Range &was = old_domain[i], &is = placement.domain[i];
    const ir::Expr extent = block.iters[i].extent;
    // Past its own extent place_block's predicate holds the block back.
    const bool lower = context.can_prove(was.min <= 0) || context.can_prove(was.min <= is.min);
    const bool upper = context.can_prove(extent <= was.min + was.extent) ||
                       context.can_prove(is.min + is.extent <= was.min + was.extent);
    more = more || !lower || !upper;
    vars.emplace_back(block.iters[i].var.name());
    context.bind(vars[i], is.min, is.extent);
    context.assume(ir::Expr(0) <= vars[i]);
    context.assume(vars[i] < extent);
    values[block.iters[i].var] = vars[i];
  }
  if (!more) return;
  for (const ir::Region& r : block.reads) {
    const ir::Region region = arith::widen(ir::substitute(r, values), vars, context);
    if (is_written_before(program, region, Stmt::of(loop), context)) continue;
    refuse("schedule.compute_at.more",
           str("it would run for more of its domain there, and not all of ", ir::print(region),
               " is known to be written before"),
           "compute the producer of that input further out first");
  }
}

}  // namespace

Results ComputeAt::apply(Program& program) const {
  const ir::Block& p = program.block(block);
  const ir::For& at = program.loop(loop);
  require_outside_of_blocks(program, p, name);
  require_outside_of_blocks(program, at, name);
  const Refuse refuse{p, at};
  const ResultIndex result = require_plain_result(p, name);
  const Stmt nest = nest_of(program, p);
  if (contains(nest, Stmt::of(at)))
    refuse("schedule.compute_at.own", "the loop is one of the block's own loops",
           "choose a loop of a consumer");
  if (!stands_before(program, nest, Stmt::of(at)))
    refuse("schedule.compute_at.order", "the block does not stand before the loop",
           "compute_at moves a producer down into a consumer; reverse_compute_at moves a consumer "
           "up into a producer");
  if (!surely_runs(program, nest, Stmt::of(at)))
    refuse("schedule.compute_at.condition", "the block stands under a condition of its own",
           "move it before specialize");
  check_uses(program, p, nest, at, refuse);
  if (const ir::For* l = deciding_loop(program, p, nest))
    refuse("schedule.compute_at.predicate",
           str("its predicate depends on loop `", l->var.name(), "` around it"),
           "move the block before splitting that loop");
  for (const std::string& why : {why_not_exact(program, p, nest), why_not_whole(program, p, nest)})
    if (!why.empty())
      refuse("schedule.compute_at.loops", why,
             "move a block before cutting its loops in other ways than split and fuse do");

  // The region its consumers need of the results, over all that the loop's body binds.
  const arith::Context context = program.context_at(program.path_to(at));
  ir::Region needed = touched(at.body, p.writes[0].buffer, false, context);
  for (size_t i = 1; i < p.writes.size(); ++i) {
    ir::Region more = touched(at.body, p.writes[i].buffer, false, context);
    const bool unread = std::all_of(more.ranges.begin(), more.ranges.end(),
                                    [](const ir::Range& r) { return ir::is_const(r.extent, 0); });
    if (unread) continue;
    more.buffer = needed.buffer;
    needed = arith::unite(needed, more, context);
  }
  Placement placement;
  for (const ir::BlockIter& it : p.iters) placement.domain.push_back({0, it.extent});
  for (size_t d = 0; d < result.iter_of_dim.size(); ++d)
    placement.domain[result.iter_of_dim[d]] = needed.ranges[d];
  const Path path = program.path_to(p);
  const Stmt apart = *std::find_if(path.begin(), path.end(), [&](const Stmt& around) {
    return !contains(around, Stmt::of(at));
  });
  check_inputs(program, p, iterated(program, p, apart), placement, at, refuse);
  const Stmt moved = place_block(p, placement, nullptr, context);

  const ir::Var var = at.var;
  const std::vector<ir::Region> results = p.writes;
  program.replace(at, ir::with(at, [&](ir::For& f) { f.body = ir::seq({moved, f.body}); }));
  remove(program, nest);
  for (const ir::Region& w : results) sink_allocation(program, w.buffer, var);
  widen_allocations(program);
  return {};
}

}  // namespace tilewright::schedule
