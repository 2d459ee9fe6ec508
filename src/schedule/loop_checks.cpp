// SPDX-License-Identifier: Apache-2.0
#include "schedule/loop_checks.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/print.h"
#include "schedule/nests.h"
#include "support/str.h"

namespace tilewright::schedule {

void require_serial(const ir::For& loop, std::string_view step) {
  if (loop.loop == ir::ForKind::Serial) return;
  throw Error({.code = "schedule.loop.kind",
               .message = str("cannot ", step, " `", loop.var.name(), "`"),
               .notes = {str("`", loop.var.name(), "` is ", name(loop.loop), " already")},
               .help = str(step, " the loop first, then say how its parts run")});
}

std::vector<const ir::For*> perfect_chain(const Program& program,
                                          const std::vector<const ir::For*>& loops,
                                          std::string_view step) {
  const auto refuse = [&](const ir::For& loop, const std::string& note) {
    throw Error({.code = "schedule.loop.nest",
                 .message = str("cannot ", step, " `", loop.var.name(), "` with the other loops"),
                 .notes = {note},
                 .help = "name loops that stand directly inside each other; move what stands "
                         "between them first (fission, compute_at, decompose_reduction)"});
  };
  // The one whose path is longest is innermost; all others must lie on its path.
  const ir::For* inner = loops[0];
  size_t depth = 0;
  for (const ir::For* l : loops)
    if (const size_t d = program.path_to(*l).size(); d > depth) inner = l, depth = d;
  const Path path = program.path_to(*inner);
  std::vector<const ir::For*> chain;
  size_t remaining = loops.size();
  for (const ir::Stmt& s : path) {
    const auto* l = s.as<ir::For>();
    const bool named = l && std::find(loops.begin(), loops.end(), l) != loops.end();
    if (chain.empty() && !named) continue;
    if (!l) refuse(*inner, "something other than a loop stands between them");
    chain.push_back(l);
    remaining -= named;
  }
  if (remaining != 0) refuse(*inner, "they do not stand inside each other");
  return chain;
}

void require_independent(const Program& program, const ir::For& loop, bool allow_reductions,
                         std::string_view step) {
  for (const Conflict& c : conflicts_across(loop, loop, program)) {
    const bool reduction =
        c.first.reduction && c.second.reduction && c.first.block == c.second.block;
    if (reduction && allow_reductions) continue;
    throw Error({.code = "schedule.loop.dependence",
                 .message = str("cannot ", step, " `", loop.var.name(), "`"),
                 .notes = {reduction ? str("it reduces into `", c.first.region.buffer->name,
                                           "` of block `", c.first.block->name, "`")
                                     : str(c.text(), " in different iterations")},
                 .help = reduction ? "choose a loop over spatial iterators, or split the reduction "
                                     "with rfactor first"
                                   : "choose a loop whose iterations are independent, or move the "
                                     "producer (compute_at, fission)"});
  }
}

void set_kind(Program& program, const ir::For& loop, ir::ForKind kind, ir::ThreadAxis axis,
              std::string_view step) {
  require_serial(loop, step);
  const auto concurrent = [](ir::ForKind k) {
    return k == ir::ForKind::Parallel || k == ir::ForKind::Bound || k == ir::ForKind::VThread;
  };
  const auto refuse = [&](const ir::For& outer, const ir::For& inner) {
    throw Error(
        {.code = "schedule.loop.place",
         .message = str("cannot ", step, " `", loop.var.name(), "`"),
         .notes = {str("`", inner.var.name(), "` would start threads inside of the lanes of `",
                       outer.var.name(), "`")},
         .help = "vectorize loops inside of all parallel ones"});
  };
  if (concurrent(kind)) require_outside_of_blocks(program, loop, step);
  if (concurrent(kind))
    for (const ir::For* outer : program.loops_around(loop))
      if (outer->loop == ir::ForKind::Vectorized) refuse(*outer, loop);
  if (kind == ir::ForKind::Vectorized)
    ir::walk(loop.body, [&](const ir::For& inner) {
      if (concurrent(inner.loop)) refuse(loop, inner);
    });
  program.replace(loop, ir::with(loop, [&](ir::For& f) {
                    f.loop = kind;
                    f.axis = axis;
                  }));
}

}  // namespace tilewright::schedule
