// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "ir/build.h"
#include "schedule/nests.h"
#include "schedule/steps.h"
#include "support/str.h"

namespace tilewright::schedule {

/// for y { for k { block C (init C[y] = 0) C[y] += A[y, k] } }      at k
///   ->  for y { block C_init C[y] = 0   for k { block C C[y] += A[y, k] } }
std::string split_init_off(Program& program, const ir::Block& b, const ir::For& at) {
  const auto refuse = [&](const char* code, const std::string& note, const std::string& help) {
    throw Error({.code = code,
                 .message = str("cannot split the init of block `", b.name, "` off before `",
                                at.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  };
  if (!b.init)
    refuse("schedule.decompose.init", "the block has no init",
           "name a reduction that was not decomposed before");
  const Path path = program.path_to(b);
  const auto place = std::find(path.begin(), path.end(), ir::Stmt::of(at));
  if (place == path.end())
    refuse("schedule.decompose.loop", "the loop does not stand around the block",
           "name one of the block's own loops");

  if (std::any_of(place, path.end(),
                  [](const ir::Stmt& s) { return s.as<ir::If>() || s.as<ir::While>(); }))
    refuse("schedule.decompose.condition", "the block stands under a condition inside of the loop",
           "name a loop inside of the condition");
  if (std::any_of(place, path.end() - 1, [](const ir::Stmt& s) { return s.as<ir::Block>(); }))
    refuse("schedule.decompose.loop", "another block stands between them",
           "name a loop inside of that block");
  for (const ir::Region& w : b.writes) {
    const ir::Alloc* alloc = allocation_of(program, w.buffer);
    if (alloc && contains(ir::Stmt::of(at), ir::Stmt::of(*alloc)))
      refuse("schedule.decompose.alloc",
             str("`", w.buffer->name, "` is allocated anew in every iteration of the loop"),
             "name a loop inside of the allocation");
  }
  // A loop serves spatial iterators or reduction iterators, never both, and all that serve
  // reductions are inside `at`: else the init would run again in the middle of a reduction.
  const auto in_order = [&](const ir::For& l) {
    return std::any_of(b.iters.begin(), b.iters.end(), [&](const ir::BlockIter& it) {
      return it.kind == ir::IterKind::Ordered && uses(it.binding, l.var);
    });
  };
  const auto serves = [&](const ir::For& l, bool reduction) {
    return std::any_of(b.iters.begin(), b.iters.end(), [&](const ir::BlockIter& it) {
      return (it.kind == ir::IterKind::Reduction) == reduction && uses(it.binding, l.var);
    });
  };
  std::vector<const ir::For*> inner;
  ir::VarMap first;  // reduction loops at their first iteration
  for (auto s = path.begin(); s != path.end(); ++s) {
    const auto* l = s->as<ir::For>();
    if (!l) continue;
    if (s < place) {
      if (serves(*l, true))
        refuse("schedule.decompose.outer",
               str("`", l->var.name(), "` outside of it is a loop of the same reduction"),
               str("decompose at `", l->var.name(), "` or outside of it"));
      continue;
    }
    if (in_order(*l))
      refuse("schedule.decompose.order",
             str("`", l->var.name(),
                 "` runs in order: the init of each of its iterations comes "
                 "after the one before"),
             "name a loop inside of it");
    if (serves(*l, true) && serves(*l, false))
      refuse("schedule.decompose.mixed",
             str("`", l->var.name(), "` serves a spatial and a reduction iterator at once"),
             "do not fuse spatial loops with reduction loops");
    if (serves(*l, false)) {
      inner.push_back(l);
      continue;
    }
    if (!program.context_at(Path(path.begin(), s)).can_prove(ir::Expr(1) <= l->extent))
      refuse("schedule.decompose.empty", str("`", l->var.name(), "` may run no iteration"),
             "the init must not run where the reduction does not");
    first[l->var] = l->min;
  }

  // Where a producer's consumers make it run again, each run needs its own init.
  std::vector<ir::Var> loops_inside;
  std::vector<ir::Expr> bindings;
  for (auto s = place; s != path.end(); ++s)
    if (const auto* l = s->as<ir::For>()) loops_inside.push_back(l->var);
  for (const ir::BlockIter& it : b.iters) bindings.push_back(it.binding);
  if (const arith::IterMap map = arith::iter_map(
          bindings, loops_inside, program.context_at(Path(path.begin(), path.end() - 1)));
      !map.injective)
    refuse("schedule.decompose.repeat",
           str("the loop may run an instance of the block several times: ", map.reason),
           "name a loop further in");
  if (!starts_below(program, b, *place))
    refuse("schedule.decompose.start", "the reduction starts in other loops",
           "decompose it before partition cuts it");
  const std::string init_name = program.fresh_block_name(b.name + "_init");
  const ir::Stmt nest = init_nest(b, inner, first, init_name);
  const ir::Var var = at.var;
  program.replace(b, ir::with(b, [](ir::Block& rest) { rest.init = nullptr; }));
  insert_before(program, ir::Stmt::of(*find_loop(program.func().body, var)), nest);
  widen_allocations(program);  // a call in the init names all operands, also those it leaves alone
  return init_name;
}

Results DecomposeReduction::apply(Program& program) const {
  return {BlockResult{split_init_off(program, program.block(block), program.loop(loop))}};
}

}  // namespace tilewright::schedule
