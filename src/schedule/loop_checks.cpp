// SPDX-License-Identifier: Apache-2.0
#include "schedule/loop_checks.h"

#include <algorithm>
#include <unordered_set>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/sharing.h"
#include "schedule/nests.h"
#include "support/str.h"

namespace tilewright::schedule {

using ir::Stmt;

void require_serial(const ir::For& loop, std::string_view step) {
  if (loop.loop == ir::ForKind::Serial) return;
  throw Error({.code = "schedule.loop.kind",
               .message = str("cannot ", step, " `", loop.var.name(), "`"),
               .notes = {str("`", loop.var.name(), "` is ", name(loop.loop), " already")},
               .help = str(step, " the loop first, then say how its parts run")});
}

namespace {

/// The first statement below `body` that synchronises, in words; empty when there is none.
std::string sync_below(const Stmt& body) {
  std::string found;
  const auto say = [&](const std::string& what) {
    if (found.empty()) found = what;
  };
  ir::walk(
      body, [&](const ir::Agents&) { say("agents stand inside"); },
      [&](const ir::Barrier&) { say("a barrier stands inside"); },
      [&](const ir::ChannelOp& op) {
        say(str("it synchronises on channel `", op.channel->name, "`"));
      },
      [&](const ir::Async& async) {
        say(str("it synchronises on channel `", async.channel->name, "`"));
      });
  return found;
}

/// What ir/verify says of loops inside and around each other, before it is too late to refuse.
void require_place(const Program& program, const ir::For& loop, ir::ForKind kind,
                   ir::ThreadAxis axis, std::string_view step) {
  const auto refuse = [&](const std::string& note, const std::string& help) {
    throw Error({.code = "schedule.loop.place",
                 .message = str("cannot ", step, " `", loop.var.name(), "`"),
                 .notes = {note},
                 .help = help});
  };
  using enum ir::ForKind;
  const auto concurrent = [](ir::ForKind k) { return k == Parallel || k == Bound || k == VThread; };
  const auto lanes = [&](const ir::For& outer, const ir::For& inner) {
    refuse(str("`", inner.var.name(), "` would start threads inside of the lanes of `",
               outer.var.name(), "`"),
           "vectorize loops inside of all parallel ones");
  };
  const auto threads = [&](const ir::For& outer, const ir::For& inner) {
    refuse(str("`", inner.var.name(), "` would be bound inside of the parallel loop `",
               outer.var.name(), "`"),
           "bind the loops outside as well, to blocks");
  };
  for (const Stmt& s : program.path_to(loop)) {
    if (s.as<ir::Agents>() && kind == Bound)
      refuse("it is run by an agent, which has threads of its own", "bind loops outside of agents");
    const auto* outer = s.as<ir::For>();
    if (!outer || outer == &loop) continue;
    if (concurrent(kind) && outer->loop == Vectorized) lanes(*outer, loop);
    if (kind == Bound && outer->loop == Parallel) threads(*outer, loop);
  }
  ir::walk(
      loop.body,
      [&](const ir::For& inner) {
        if (kind == Vectorized && concurrent(inner.loop)) lanes(loop, inner);
        if (kind == Parallel && inner.loop == Bound) threads(loop, inner);
      },
      [&](const ir::Agents&) {
        if (kind == Parallel || kind == VThread ||
            (kind == Bound && axis >= ir::ThreadAxis::ThreadX))
          refuse("agents stand inside", "bind the loop to blocks");
      },
      [&](const ir::Barrier&) {
        if (kind == Parallel || kind == VThread)
          refuse("a barrier stands inside", "bind the loop to blocks or threads");
      });
  if (kind != Vectorized) return;
  if (const std::string sync = sync_below(loop.body); !sync.empty())
    refuse(sync, "vectorize loops that only compute");
}

}  // namespace

void require_no_sync(const ir::For& loop, std::string_view step) {
  const std::string sync = sync_below(loop.body);
  if (sync.empty()) return;
  throw Error({.code = "schedule.loop.sync",
               .message = str("cannot ", step, " `", loop.var.name(), "`"),
               .notes = {sync},
               .help = str(step, " the loop before its iterations overlap")});
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
  for (const Stmt& s : path) {
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
  const auto asked = [&](const Access& a, const Access& b) {
    return !allow_reductions || !same_reduction(a, b);
  };
  for (const Conflict& c : Conflicts(loop, program, asked).across(loop)) {
    const bool reduction = same_reduction(c.first, c.second);
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

/// Memory that each iteration has for itself cannot come from outside of the loop.
static void require_own_inside(const ir::For& loop, std::string_view step) {
  for (const Access& a : accesses_of(ir::Stmt::of(loop))) {
    const ir::Buffer& buffer = a.region.buffer;
    if (a.is_private || buffer->scope.kind == ir::ScopeKind::Named || !ir::is_own(*buffer, loop))
      continue;
    throw Error({.code = "schedule.bind.outside",
                 .message = str("cannot ", step, ": `", buffer->name, "` lives in ",
                                ir::print(buffer->scope), " outside of `", loop.var.name(),
                                "`, which is bound to ", ir::name(loop.axis)),
                 .notes = {"each iteration has memory of this scope for itself"},
                 .help =
                     "compute it inside of the loop (compute_at), or give it a wider scope with "
                     "set_scope"});
  }
}

/// Memory inside of the loop that all iterations share is no place for what each of them makes.
static void require_shared_apart(const Program& program, const ir::For& loop,
                                 std::string_view step) {
  std::unordered_set<ir::Buffer> shared;
  ir::walk(loop.body, [&](const ir::Alloc& a) {
    if (!ir::is_own(*a.buffer, loop)) shared.insert(a.buffer);
  });
  if (shared.empty()) return;
  const auto asked = [&](const Access& a, const Access&) {
    return shared.contains(a.region.buffer);
  };
  for (const Conflict& c : Conflicts(loop, program, asked).across(loop)) {
    const ir::Buffer& buffer = c.first.region.buffer;
    const bool threads = loop.axis >= ir::ThreadAxis::ThreadX;
    throw Error({.code = "schedule.bind.shared",
                 .message = str("cannot ", step, ": all iterations of `", loop.var.name(),
                                "`, which is bound to ", ir::name(loop.axis), ", share `",
                                buffer->name, "`"),
                 .notes = {str(c.text(), " in different iterations"),
                           str("its scope is ", ir::print(buffer->scope))},
                 .help = str("give each iteration its own with set_scope (",
                             threads ? "register" : "shared or register",
                             "), or compute it outside of the loop")});
  }
}

static void require_axis_order(const Program& program, const ir::For& loop) {
  for (const ir::For* outer : program.loops_around(loop)) {
    if (outer->loop == ir::ForKind::Bound && outer->axis >= loop.axis)
      throw Error({.code = "schedule.bind.order",
                   .message = str("cannot bind `", loop.var.name(), "` to ", ir::name(loop.axis)),
                   .notes = {str("`", outer->var.name(), "` around it is bound to ",
                                 ir::name(outer->axis))},
                   .help = "bind blocks outside of clusters and clusters outside of threads, each "
                           "axis once on a path"});
  }
}

void require_bound_loops_fit(const Program& program, std::string_view step) {
  ir::walk(program.func().body, [&](const ir::For& loop) {
    if (loop.loop != ir::ForKind::Bound) return;
    require_axis_order(program, loop);
    require_own_inside(loop, step);
    require_shared_apart(program, loop, step);
  });
}

void set_kind(Program& program, const ir::For& loop, ir::ForKind kind, ir::ThreadAxis axis,
              std::string_view step) {
  require_serial(loop, step);
  const bool concurrent =
      kind == ir::ForKind::Parallel || kind == ir::ForKind::Bound || kind == ir::ForKind::VThread;
  if (concurrent) require_outside_of_blocks(program, loop, step);
  require_place(program, loop, kind, axis, step);
  program.replace(loop, ir::with(loop, [&](ir::For& f) {
                    f.loop = kind;
                    f.axis = axis;
                  }));
}

}  // namespace tilewright::schedule
